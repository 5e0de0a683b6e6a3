# Makes imported.tsv: hashes of the programs from which people come. It was run once, with Python 3.11, Django 5.2.19,
# argon2-cffi 25.1.0, bcrypt 5.0.0 and passlib 1.7.4:
#
#     pip install django argon2-cffi bcrypt passlib && python make.py > imported.tsv
#
# Each line has the scheme, the password and the hash.
import argon2
import bcrypt
import django
from django.conf import settings
from django.contrib.auth import hashers
from passlib.hash import pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha512, scrypt

settings.configure(PASSWORD_HASHERS=["django.contrib.auth.hashers." + name for name in (
    "PBKDF2PasswordHasher", "PBKDF2SHA1PasswordHasher", "Argon2PasswordHasher", "BCryptSHA256PasswordHasher", "BCryptPasswordHasher", "ScryptPasswordHasher")])
django.setup()

WORDS = "correct horse battery staple"
OTHER = "Zürich, 東京 – naïve café"
LONG = "a password of more than seventy-two bytes, which is all that bcrypt reads of a password"


def show(scheme, password, text):
    print(scheme, password, text if isinstance(text, str) else text.decode(), sep="\t")


for password in (WORDS, OTHER, LONG):
    for algorithm in ("pbkdf2_sha256", "pbkdf2_sha1", "argon2", "bcrypt_sha256", "scrypt"):
        show("Django " + algorithm, password, hashers.make_password(password, hasher=algorithm))
for password in (WORDS, OTHER):
    show("Django bcrypt", password, hashers.make_password(password, hasher="bcrypt"))
    for prefix in (b"2a", b"2b"):
        show("bcrypt " + prefix.decode(), password, bcrypt.hashpw(password.encode(), bcrypt.gensalt(10, prefix)))
    # PHP writes the same hash under another name.
    show("bcrypt 2y", password, bcrypt.hashpw(password.encode(), bcrypt.gensalt(10, b"2b")).decode().replace("$2b$", "$2y$"))
    for kind in (argon2.Type.ID, argon2.Type.I):
        show("argon2-cffi " + kind.name, password, argon2.PasswordHasher(type=kind).hash(password))
    show("argon2-cffi short", password, argon2.PasswordHasher(memory_cost=8192, time_cost=1, parallelism=1, hash_len=16, salt_len=8).hash(password))
    show("argon2-cffi long", password, argon2.PasswordHasher(memory_cost=8192, time_cost=1, parallelism=1, hash_len=64).hash(password))
    show("passlib scrypt", password, scrypt.hash(password))
    show("passlib pbkdf2-sha256", password, pbkdf2_sha256.hash(password))
    show("passlib pbkdf2-sha512", password, pbkdf2_sha512.hash(password))
    show("passlib pbkdf2", password, pbkdf2_sha1.hash(password))
