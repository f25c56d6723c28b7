#!/bin/bash
# One task of an array for each share: docs/machines.md.
#
#   sbatch --array=0-2 slurm.sh ADDRESS SHARES -n 100 [WORDS FOR RUN...]
#
# A task whose node fails, or that is preempted, goes back to the queue and goes on where it ended. So does one whose time is nearly
# over, and one whose runner asks for it, each at most five times.
#SBATCH --job-name=ralph
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=ralph-%A_%a.log
#SBATCH --time=12:00:00
# Two minutes before the time is over. It is not TERM, which `scancel` sends to what must not come back.
#SBATCH --signal=B:USR1@120
set -u

address=$1 shares=$2
shift 2
# Slurm runs a copy of this script; the others are where `sbatch` was called.
sh "${RALPH_WORKER:-$SLURM_SUBMIT_DIR/worker.sh}" "$address" "$shares" "$SLURM_ARRAY_TASK_ID" "$@" &
runner=$!
again=
trap 'kill -TERM "$runner"' TERM
trap 'again=1; kill -TERM "$runner"' USR1
wait "$runner"
code=$?
while kill -0 "$runner" 2>/dev/null; do
  wait "$runner"
  code=$?
done

# The runner asks for it, or was killed, as for want of memory.
case $code in 75 | 137) again=1 ;; esac
if [ -n "$again" ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
