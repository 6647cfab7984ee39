"""Made-up credentials and harmless words that look like them. None opens anything; they are made here from digests."""

from __future__ import annotations

import base64
import hashlib
import uuid


def _letters(seed: str, count: int, alphabet: str = "") -> str:
    """As many random-looking characters as asked for, always the same for a seed."""
    signs = alphabet or "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    stream = b"".join(hashlib.sha512(f"{seed}{n}".encode()).digest() for n in range(1 + count // 64))
    return "".join(signs[one % len(signs)] for one in stream[:count])


def _hex(seed: str, count: int) -> str:
    return _letters(seed, count, "0123456789abcdef")


def _upper(seed: str, count: int) -> str:
    return _letters(seed, count, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


_B64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

SECRETS = {
    "AWS access key": f"aws_access_key_id = AKIA{_upper('a', 16)}",
    "AWS secret": f"AWS_SECRET_ACCESS_KEY={_letters('b', 40, _B64)}",
    "AWS secret alone": f"  {_letters('b2', 40, _B64)}",
    "GitHub classic": f"remote: ghp_{_letters('c', 36)}",
    "GitHub fine-grained": f"github_pat_{_letters('d', 22)}_{_letters('e', 59)}",
    "GitHub app": f"export GH=ghs_{_letters('f', 36)}",
    "GitLab": f"token glpat-{_letters('g', 20)}",
    "OpenAI": f"OPENAI_API_KEY=sk-proj-{_letters('h', 48)}",
    "Anthropic": f"x-api-key: sk-ant-api03-{_letters('i', 80)}-{_letters('i2', 8)}AA",
    "Hugging Face": f"login with hf_{_letters('j', 34)}",
    "Google API key": f"key=AIza{_letters('k', 35)}",
    "Google client secret": f'"client_secret": "GOCSPX-{_letters("l", 28)}"',
    "Slack bot": f"xoxb-{_letters('m', 11, '0123456789')}-{_letters('n', 24)}",
    "Slack webhook": f"https://hooks.slack.com/services/T{_upper('o', 8)}/B{_upper('p', 8)}/{_letters('q', 24)}",
    "Discord webhook": f"https://discord.com/api/webhooks/{_letters('r', 18, '0123456789')}/{_letters('s', 68)}",
    "a key of readmit serve": f"it printed rk_{_hex('rk', 12)}_{_hex('rk2', 64)}",
    "Stripe": f"STRIPE=sk_live_{_letters('t', 24)}",
    "Twilio": f"SK{_hex('u', 32)}",
    "SendGrid": f"SG.{_letters('v', 22)}.{_letters('w', 43)}",
    "npm": f"//registry/:_authToken=npm_{_letters('x', 36)}",
    "PyPI": f"password = pypi-AgEIcHlwaS5vcmc{_letters('y', 70)}",
    "DigitalOcean": f"dop_v1_{_hex('z', 64)}",
    "Shopify": f"shpat_{_hex('A', 32)}",
    "Vault": f"VAULT_TOKEN: hvs.{_letters('B', 90)}",
    "age key": f"AGE-SECRET-KEY-1{_upper('C', 58)}",
    "JWT": f"eyJ{_letters('D', 30)}.eyJ{_letters('E', 80)}.{_letters('F', 43)}",
    "bearer": f'curl -H "Authorization: Bearer {_letters("G", 40)}" localhost',
    "basic header": f"Authorization: Basic {base64.b64encode(b'root:hunter2hunter2').decode()}",
    "database URL": f"postgresql://app:{_letters('H', 14)}@db.internal:5432/app",
    "Redis URL": f"REDIS_URL=redis://:{_letters('I', 20)}@cache:6379/0",
    "git remote with token": f"origin  https://x-access-token:{_letters('J', 40)}@git.example/app.git (push)",
    "RSA key": "-----BEGIN RSA PRIVATE KEY-----\n" + _letters("K", 64, _B64) + "\n-----END RSA PRIVATE KEY-----",
    "OpenSSH key": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + _letters("L", 70, _B64),
    "password in YAML": "  password: 'c0rrect-Horse7'",
    "password in a setting": "DB_PASSWORD=Tr0ub4dor&3x",
    "password on a command line": "mysql --password=s3cr3tPassw0rd -u root",
    "password in JSON": '{"user": "root", "passwd": "qW3rty!9zz"}',
    "curl with a password": f"curl -u admin:{_letters('M', 12)} https://example.org",
    "hexadecimal API key": f"api_key = '{_hex('N', 32)}'",
    "session cookie": f"Set-Cookie: sid={_letters('O', 40)}; HttpOnly",
    "Azure storage": f"AccountKey={_letters('P', 86, _B64)}==;EndpointSuffix=core",
    "Django key": "SECRET_KEY = 'django-insecure-7$k2z!v0b@x8#q1m^n4c&r5t*y6u9'",
    "random token alone": f"{_letters('Q', 43)}",
    "random token in a sentence": f"The deploy token is {_letters('R', 32)} until Friday.",
    "long base64url token": f"refresh {_letters('S', 64)}_{_letters('T', 20)}",
}

_DIGEST = hashlib.sha256(b"one").hexdigest()
HARMLESS = {
    "git hash": hashlib.sha1(b"commit").hexdigest(),  # noqa: S324 - as git names commits
    "short hash": "c0013f8 Dependencies: a filter",
    "git log": f"commit {hashlib.sha1(b'two').hexdigest()} (HEAD -> main)",  # noqa: S324 - as git names commits
    "SHA-256": _DIGEST,
    "SHA-512": hashlib.sha512(b"three").hexdigest(),
    "MD5 sum": f"{hashlib.md5(b'four').hexdigest()}  archive.tar.gz",  # noqa: S324 - a checksum
    "image digest": f"python@sha256:{_DIGEST}",
    "UUID": str(uuid.UUID(_DIGEST[:32])),
    "session file": f"/h/u/.claude/projects/-repo/{uuid.UUID(_DIGEST[32:])}.jsonl",
    "npm integrity": f'"integrity": "sha512-{base64.b64encode(hashlib.sha512(b"five").digest()).decode()}",',
    "pip hash": f"    --hash=sha256:{hashlib.sha256(b'six').hexdigest()}",
    "Go sum": f"golang.org/x/net v0.17.0 h1:{base64.b64encode(hashlib.sha256(b'seven').digest()).decode()}",
    "subresource integrity": f'integrity="sha384-{base64.b64encode(hashlib.sha384(b"eight").digest()).decode()}"',
    "base64 image": "data:image/png;base64,iVBORw0KGgo" + base64.b64encode(hashlib.sha512(b"9").digest() * 20).decode(),
    "ssh public key": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_letters('pub', 43, _B64)} u@host",
    "ssh fingerprint": f"SHA256:{base64.b64encode(hashlib.sha256(b'ten').digest()).decode().rstrip('=')}",
    "ETag": f'ETag: "{_letters("etag", 32)}"',
    "long path": "src/readmit/rules/readmission/render_retractions.py:120: in retracted_lines",
    "long camel case": "AbstractSingletonProxyFactoryBeanConfigurationTestHelper",
    "snake case": "test_an_agent_that_never_left_is_told_what_no_longer_holds_2",
    "constant": "MAX_CONCURRENT_STREAMS_PER_CONNECTION_V2",
    "URL": "https://docs.python.org/3.11/library/subprocess.html#subprocess.Popen.communicate",
    "GitHub URL": "https://github.com/openai/codex/issues/27473#issuecomment-2748190053",
    "version": "python-3.11.9-h955ad1f_0_cpython.conda",
    "wheel": "cryptography-42.0.5-cp39-abi3-manylinux_2_28_x86_64.whl",
    "time stamp": "2026-11-17T02:09:37.663Z rollout-2026-11-17T02-01-00",
    "tool id": "toolu_01A09q90qw90lq917835lq9",
    "placeholder password": "password: <your password>",
    "password from the environment": 'password = os.environ["DB_PASSWORD"]',
    "password variable": "export PGPASSWORD=$DB_PASSWORD",
    "password in a sentence": "The password is stored in the key ring and never in the repository.",
    "password argument": "def login(user: str, password: str) -> Token:",
    "token count": "token_count: 1523, max_tokens=4096",
    "secret name": "uses: secrets.GITHUB_TOKEN",
    "token in a test": "assert token == expected_token",
    "statement about keys": "Set the api_key setting in config/service.toml before you start.",
    "port": "The server listens on port 8080 (was 3000).",
    "make target": "make test-clients  # installs pinned versions",
    "hex dump": "00000010: 0d0a 1a0a 0000 000d 4948 4452 0000 0190  ........IHDR....",
    "migration": "migrations/0042_auto_20261117_0209_add_index_to_orders.py",
    "stack trace": 'File "/usr/lib/python3.11/site-packages/pkg/module.py", line 1203, in __getattr__',
    "IP address": "listening on 203.0.113.7:8443",
    "Docker layer": f"sha256:{_DIGEST[:12]} Pull complete",
    "pass keyword": "tests/test_login.py::test_wrong_password_is_refused PASSED",
    "key binding": "key_press: Ctrl+Shift+K opens the palette",
}
