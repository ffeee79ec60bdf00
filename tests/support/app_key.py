"""The private key of the tests' GitHub App."""

from __future__ import annotations

from functools import cache

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

APP_ID = "4711"


@cache
def app_key() -> rsa.RSAPrivateKey:
    """The key; made once a process, which takes a moment."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def app_key_pem() -> str:
    """The same as GitHub hands it out."""
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return app_key().private_bytes(pem, form, serialization.NoEncryption()).decode()


def refusal(token: str) -> str | None:
    """Why GitHub refuses a token that the App made for itself; None: it does not."""
    try:
        claims = jwt.decode(token, app_key().public_key(), algorithms=["RS256"])
    except jwt.InvalidTokenError:
        return "A JSON web token could not be decoded"
    if claims["iss"] != APP_ID or claims["exp"] - claims["iat"] > 600:
        return "'Expiration time' claim ('exp') is too far in the future"
    return None
