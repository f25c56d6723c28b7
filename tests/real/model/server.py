#!/usr/bin/env python3
"""A scripted model on loopback, for driving real agent programs in tests.

usage: python3 -m model.server --scenario FILE --log DIR --port-file FILE [--set NAME=VALUE]...

It plays a scenario, and writes its port into the port file once it listens. The protocols that it speaks are the modules in
`PROTOCOLS`, one file each; anthropic.py shows what such a module has to offer.

A scenario is JSON; `{{NAME}}` stands for a value given by --set:

  {"side":  TURN,                     answers every request without tools (titles, summaries), at any time
   "turns": [TURN, ...]}              answer the requests with tools, in the order in which they come

A TURN is

  {"expect": ["...", ...],            optional: texts that the request must hold, else it is refused and logged as a problem
   "text": "...",                     optional
   "tools": [{"name": "Write", "input": {...}}, ...],      optional: calls of tools, in the agent's own words
   "usage": {"input": 1, "cache_read": 2, "cache_write": 3, "output": 4, "thought": 1},     what was thought is output too
   "forever": true}                   optional: no turn comes after it

or it is one of these faults:

  {"fault": {"status": 529, "headers": {...}, "body": {...}}}       headers and body are optional
  {"fault": {"cut": 3}, "text": "..."}                              breaks off after 3 events of the answer
  {"fault": {"cut": "half"}, "text": "..."}                         breaks off in the middle of the text
  {"fault": {"end": 3}, "text": "..."}                              ends after 3 events, as if they were all
  {"fault": {"hang": 3}, "text": "..."}                             falls silent after 3 events, until the agent gives up

With 0 events not even the head of the answer comes. A request past the last turn is refused and logged as a problem.

The log holds, for each request in its order, `NNN.json` (the body, every byte) and `NNN.meta.json` (path, model, whether it streams,
the number of its turn or null, the problem with it or null, and the key).
"""

import argparse
import contextlib
import json
import os
import pathlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import anthropic, chat, gemini, login, responses
from .scenario import Scenario

PROTOCOLS = [anthropic, responses, chat, gemini]


class Log:
    """Numbered requests in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self.lock = threading.Lock()

    def write(self, body, **meta):
        with self.lock:
            self.count += 1
            (self.folder / f"{self.count:03}.json").write_bytes(body)
            (self.folder / f"{self.count:03}.meta.json").write_text(json.dumps(meta, indent=2) + "\n")


class Model(ThreadingHTTPServer):
    """Listens from its making on, on a port that was free."""

    daemon_threads = True

    def __init__(self, scenario, log):
        super().__init__(("127.0.0.1", 0), Handler)
        self.scenario = scenario
        self.log = Log(log)
        self.login = login.Login()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Agents hang up when they are stopped. What is a mistake of ours, the agent's failure shows."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Stays quiet: the folder of requests is the log."""

    def do_HEAD(self):
        self.reply_json(200, {})

    def do_GET(self):
        self.reply_json(404, {"error": {"message": "this model only answers POST"}})

    def do_POST(self):
        raw = self.read_body()
        log = self.server.log
        path = self.path.split("?")[0]
        if path == login.PATH:
            return self.reply_json(*self.server.login.renew(json.loads(raw)))
        protocol = next((one for one in PROTOCOLS if one.accepts(path)), None)
        if protocol is None:
            log.write(raw, path=self.path, model=None, stream=False, turn=None, problem=None)
            return self.reply_json(404, {"error": {"message": f"nothing is known of {path}"}})
        request = protocol.read(path, json.loads(raw))
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        if request["canned"] is not None:
            log.write(raw, path=self.path, model=request["model"], stream=False, turn=None, problem=None)
            return self.reply_json(200, request["canned"])
        turn, number, problem = self.server.scenario.answer(request)
        log.write(raw, path=self.path, model=request["model"], stream=request["stream"], turn=number, problem=problem, key=key)
        if problem:
            return self.reply_json(400, protocol.error(400, problem))
        fault = turn["fault"] or {}
        if "status" in fault:
            body = fault.get("body") or protocol.error(fault["status"], "scripted fault")
            return self.reply_json(fault["status"], body, fault.get("headers"))
        limit = fault.get("cut", fault.get("hang", fault.get("end")))
        limit = protocol.HALF_THE_TEXT if limit == "half" else limit
        if request["stream"]:
            self.reply_events(protocol.events(request, turn), limit, "end" in fault)
        elif limit is None:
            self.reply_json(200, protocol.document(request, turn))
        if limit is not None:
            self.close_connection = True
        if "hang" in fault:
            # Returns when the agent hangs up.
            with contextlib.suppress(OSError):
                self.connection.recv(1)

    def read_body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def reply_json(self, status, document, headers=None):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | (headers or {})).items():
            self.send_header(name, str(value))
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reply_events(self, events, limit, is_ended):
        if limit == 0:
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events[:limit]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        if limit is None or is_ended:
            self.wfile.write(b"0\r\n\r\n")


def main():
    parser = argparse.ArgumentParser(description="a scripted model on loopback")
    parser.add_argument("--scenario", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    values = dict(pair.split("=", 1) for pair in given.set)
    model = Model(Scenario.read(pathlib.Path(given.scenario).read_text(), values), given.log)
    # A rename, so that whoever waits for the file never reads half of it.
    half = given.port_file + ".new"
    pathlib.Path(half).write_text(str(model.server_port))
    os.rename(half, given.port_file)
    model.serve_forever()


if __name__ == "__main__":
    main()
