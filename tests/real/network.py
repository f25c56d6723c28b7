"""Programs that fetch things: tried again where the network fails them."""

import subprocess
import time

# Between two tries, in seconds.
PAUSES = [5, 20]


def fetch(command, seconds=600):
    """Runs it to its end, at most three times. None where it did what it should, else why it did not."""
    for pause in [*PAUSES, None]:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
            if done.returncode == 0:
                return None
            said = (done.stderr or done.stdout).strip().splitlines()
            # pip says the cause last, npm first.
            reason = f"exit code {done.returncode}: {' ... '.join(dict.fromkeys(said[:1] + said[-1:]))}"
        except subprocess.TimeoutExpired:
            reason = f"no end within {seconds} s"
        if pause is not None:
            time.sleep(pause)
    return reason
