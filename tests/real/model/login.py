"""A login whose tokens are used up when it is renewed, as an account's are: who comes with old ones is refused."""

import base64
import json
import threading
import time

PATH = "/oauth/token"


class Login:
    def __init__(self):
        self.lock = threading.Lock()
        self.number = 0
        self.refused = []

    def tokens(self, seconds):
        """Those that count now. The one for the model ends after so many seconds."""

        def part(value):
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        account = {"chatgpt_account_id": "account", "chatgpt_plan_type": "pro", "chatgpt_user_id": "ada"}
        claims = {"email": "ada@example.com", "exp": int(time.time()) + seconds, "jti": str(self.number)}
        token = f"{part({'alg': 'none'})}.{part(claims | {'https://api.openai.com/auth': account})}.{part('signed')}"
        return {"id_token": token, "access_token": token, "refresh_token": f"renews-{self.number}"}

    def renew(self, body):
        """The status and the answer to who renews it."""
        with self.lock:
            token = body.get("refresh_token")
            if token != f"renews-{self.number}":
                self.refused.append(token)
                return 401, {"error": {"code": "refresh_token_reused", "message": "it was used before"}}
            self.number += 1
            return 200, self.tokens(3600)
