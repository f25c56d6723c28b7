"""The real agents: what to install, how to point each at the model, and how each speaks of its tools and tokens.

The programs are started by our own adapters. Here stands only what a user of the agent would have set up: keys, addresses,
and settings files.
"""

import dataclasses
import json
from collections.abc import Callable

from model import anthropic, chat, gemini, openai, responses

KEY = "none-is-needed"

# What the model is told where a login is read from its file.
LOGIN_KEY = "key-of-the-login"


@dataclasses.dataclass(frozen=True, eq=False)
class Agent:
    name: str
    package: str
    version: str
    # The protocol that it speaks with the model, and the model's name for us and on the wire.
    protocol: object
    model: str
    # Its environment, and its settings files in its home, for a model at this URL.
    environment: Callable[[str], dict]
    # How it wants `read PATH`, `write PATH TEXT`, `edit PATH OLD NEW` and `shell COMMAND`: the name of a tool, and its input.
    tools: dict[str, Callable[..., tuple]]
    files: Callable[[str], dict] = lambda _: {}
    # The files in its home of somebody who logged in, the variable with a key that they are in place of, and what becomes of its
    # settings files then.
    login: dict[str, str] = dataclasses.field(default_factory=dict)
    key_variable: str = ""
    with_login: Callable[[str], str] = lambda text: text
    # The same of somebody whose login is to be renewed, with these tokens, and the variable that says where.
    old_login: Callable[[dict], dict] | None = None
    renewed_at: str = ""
    model_on_wire: str | None = None
    # The names by which its output calls the tools, where those are others.
    tool_names: dict[str, str] = dataclasses.field(default_factory=dict)
    # What its tools do, where that is not what was wanted of them.
    tool_kinds: dict[str, str] = dataclasses.field(default_factory=dict)
    # Tokens that it never tells.
    untold: tuple[str, ...] = ()
    tells_cost: bool = False
    # Whether its output tells that a command of the shell exited with another code than 0.
    tells_exit_codes: bool = True
    # How the limit of an account comes, which ends at this time; the environment of such an account; and whether its output
    # tells that time.
    quota: Callable[[int], dict] = None
    limited: dict[str, str] = dataclasses.field(default_factory=dict)
    tells_reset: bool = False
    # Seconds until the limit ends: more than it goes on asking by itself before it says so.
    limit_seconds: int = 12
    # Seconds that it may be silent where all is well, also on a busy machine.
    silence: int = 15
    # Whether it asks again for ever where every answer ends too early.
    never_gives_up: bool = False

    def call(self, what, *words):
        name, given = self.tools[what](*words)
        return {"name": name, "input": given}

    def logged_in(self, files):
        """Its files where a login is in one of them."""
        return {name: self.with_login(text) for name, text in files.items()} | self.login

    def tool_name(self, what):
        return self.tool_names.get(what) or self.tools[what](*[""] * 3)[0]


def claude_tools():
    return {
        "read": lambda path, *_: ("Read", {"file_path": path}),
        "write": lambda path, text, *_: ("Write", {"file_path": path, "content": text}),
        "edit": lambda path, old, new: ("Edit", {"file_path": path, "old_string": old, "new_string": new}),
        "shell": lambda command, *_: ("Bash", {"command": command, "description": "A step", "timeout": 600000}),
    }


def claude_login():
    login = {
        "accessToken": LOGIN_KEY,
        "refreshToken": "none",
        "expiresAt": 4102444800000,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
    return {"claudeAiOauth": login}


def codex_tools():
    def patch(head, path, lines):
        return "apply_patch", f"*** Begin Patch\n*** {head} File: {path}\n{lines}*** End Patch\n"

    def whole(text):
        return "".join(f"+{line}\n" for line in text.splitlines())

    def shell(command, *_):
        return "exec_command", {"cmd": command, "yield_time_ms": 30000}

    return {
        # It has no tool of its own for that.
        "read": lambda path, *_: shell(f"cat '{path}'"),
        "write": lambda path, text, *_: patch("Add", path, whole(text)),
        "edit": lambda path, old, new: patch("Update", path, f"@@\n-{old}\n+{new}\n"),
        "shell": shell,
    }


def codex_files(url):
    config = f"""
model_provider = "loopback"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
"""
    return {".codex/config.toml": config}


def codex_old_login(tokens):
    text = {"OPENAI_API_KEY": None, "tokens": tokens | {"account_id": "account"}, "last_refresh": "2026-01-01T00:00:00Z"}
    return {".codex/auth.json": json.dumps(text)}


def copilot_tools():
    return {
        "read": lambda path, *_: ("view", {"path": path}),
        "write": lambda path, text, *_: ("create", {"path": path, "file_text": text}),
        "edit": lambda path, old, new: ("edit", {"path": path, "old_str": old, "new_str": new}),
        "shell": lambda command, *_: ("bash", {"command": command, "description": "A step", "initial_wait": 600}),
    }


def copilot_environment(url):
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": KEY,
        # The 300 KB of a long prompt are more than it gives to a model that it does not know.
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "400000",
        "COPILOT_OFFLINE": "true",
    }


def gemini_tools():
    return {
        "read": lambda path, *_: ("read_file", {"file_path": path}),
        "write": lambda path, text, *_: ("write_file", {"file_path": path, "content": text}),
        "edit": lambda path, old, new: (
            "replace",
            {"file_path": path, "old_string": old, "new_string": new, "instruction": "Tick the box"},
        ),
        "shell": lambda command, *_: ("run_shell_command", {"command": command}),
    }


def gemini_files(_):
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def opencode_tools():
    return {
        "read": lambda path, *_: ("read", {"filePath": path}),
        "write": lambda path, text, *_: ("write", {"filePath": path, "content": text}),
        "edit": lambda path, old, new: ("edit", {"filePath": path, "oldString": old, "newString": new}),
        "shell": lambda command, *_: ("bash", {"command": command, "description": "A step", "timeout": 600000}),
    }


def opencode_files(url):
    model = {
        "name": "Scripted",
        "limit": {"context": 400000, "output": 8000},
        "cost": {"input": 3, "output": 15, "cache_read": 0.3},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Loopback",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {"scripted": model},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "provider": {"loopback": provider},
        "model": "loopback/scripted",
        "small_model": "loopback/scripted",
    }
    return {".config/opencode/opencode.json": json.dumps(config)}


def qwen_tools():
    return {
        "read": lambda path, *_: ("read_file", {"file_path": path}),
        "write": lambda path, text, *_: ("write_file", {"file_path": path, "content": text}),
        "edit": lambda path, old, new: ("edit", {"file_path": path, "old_string": old, "new_string": new}),
        "shell": lambda command, *_: ("run_shell_command", {"command": command, "is_background": False, "timeout": 600000}),
    }


def qwen_files(_):
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    }
    return {".qwen/settings.json": json.dumps(settings)}


AGENTS = [
    Agent(
        name="claude",
        package="@anthropic-ai/claude-code",
        version="2.1.330",
        protocol=anthropic,
        model="claude-sonnet-4-5",
        environment=lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        },
        login={".claude/.credentials.json": json.dumps(claude_login())},
        key_variable="ANTHROPIC_API_KEY",
        tools=claude_tools(),
        tells_cost=True,
        # Only a subscription has a limit with an end.
        quota=anthropic.plan_limit,
        limited={"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": KEY},
        tells_reset=True,
    ),
    Agent(
        name="codex",
        package="@openai/codex",
        version="0.169.0",
        protocol=responses,
        model="gpt-5.5",
        environment=lambda _: {"LOOPBACK_KEY": KEY},
        files=codex_files,
        login={".codex/auth.json": json.dumps({"OPENAI_API_KEY": LOGIN_KEY})},
        old_login=codex_old_login,
        renewed_at="CODEX_REFRESH_TOKEN_URL_OVERRIDE",
        key_variable="LOOPBACK_KEY",
        with_login=lambda text: text.replace('env_key = "LOOPBACK_KEY"', "requires_openai_auth = true"),
        quota=openai.plan_limit,
        tells_reset=True,
        tools=codex_tools(),
        tool_names={
            "read": "command_execution",
            "write": "file_change",
            "edit": "file_change",
            "shell": "command_execution",
        },
        tool_kinds={"read": "shell", "write": "edit"},
    ),
    Agent(
        name="copilot",
        package="@github/copilot",
        version="1.0.102",
        protocol=chat,
        model="scripted",
        environment=copilot_environment,
        tools=copilot_tools(),
        quota=lambda _: openai.no_credit({"x-should-retry": "false"}),
    ),
    Agent(
        name="gemini",
        package="@google/gemini-cli",
        version="0.61.0",
        protocol=gemini,
        model="gemini-2.5-pro",
        environment=lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY},
        files=gemini_files,
        tools=gemini_tools(),
        quota=lambda _: gemini.day_limit(),
        untold=("cache_write",),
        tells_exit_codes=False,
    ),
    Agent(
        name="opencode",
        package="opencode-ai",
        version="1.18.33",
        protocol=chat,
        model="loopback/scripted",
        model_on_wire="scripted",
        environment=lambda _: {
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        files=opencode_files,
        login={".local/share/opencode/auth.json": json.dumps({"loopback": {"type": "api", "key": LOGIN_KEY}})},
        with_login=lambda text: text.replace(f', "apiKey": "{KEY}"', ""),
        tools=opencode_tools(),
        # It tries six times by itself, and each time waits as long as it is told.
        quota=lambda _: openai.no_credit({"retry-after": 1}),
        # It says nothing before its first answer is whole.
        silence=30,
        never_gives_up=True,
        tells_reset=True,
        tells_cost=True,
    ),
    Agent(
        name="qwen",
        package="@qwen-code/qwen-code",
        version="0.24.4",
        protocol=chat,
        model="scripted",
        environment=lambda url: {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "QWEN_CODE_DISABLE_AUTOUPDATE": "1"},
        files=qwen_files,
        tools=qwen_tools(),
        quota=openai.named_limit,
        tells_reset=True,
        limit_seconds=45,
        untold=("cache_write",),
    ),
]
