"""Addresses: which store they mean, and what may be shown of them."""

import pytest

from holdover.compat.errors import AddressError
from holdover.compat.stores.address import (
    check_login,
    redact_url,
    resolve_env,
    scheme_of,
    sqlite_path,
)


@pytest.mark.parametrize(
    ("address", "scheme"),
    [
        ("entities.db", "sqlite"),
        ("/var/lib/app/entities.db", "sqlite"),
        ("./a:b.db", "sqlite"),
        (r"C:\data\entities.db", "sqlite"),
        ("C:/data/entities.db", "sqlite"),
        (":memory:", "sqlite"),
        ("file with spaces.db", "sqlite"),
        ("sqlite:///entities.db", "sqlite"),
        ("SQLite:///entities.db", "sqlite"),
        ("postgresql://h/db", "postgresql"),
        ("postgresql+psycopg://h/db", "postgresql+psycopg"),
        ("redis://h", "redis"),
        ("memory://", "memory"),
        ("my.module:make_store", "factory"),
        ("module:Class.attribute", "factory"),
        ("host=h dbname=d password=secret", "keywords"),
        ("user=u host=h", "keywords"),
    ],
)
def test_schemes(address, scheme):
    assert scheme_of(address) == scheme


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("a.db", "a.db"),
        ("sqlite:///a.db", "a.db"),
        ("sqlite:////abs/a.db", "/abs/a.db"),
        ("sqlite:///dir/a b.db", "dir/a b.db"),
        ("sqlite:///:memory:", ":memory:"),
    ],
)
def test_sqlite_paths(address, path):
    assert sqlite_path(address) == path


@pytest.mark.parametrize("address", ["sqlite://a.db", "sqlite://", "sqlite:///"])
def test_sqlite_addresses_that_name_no_file(address):
    with pytest.raises(AddressError):
        sqlite_path(address)


def test_environment_keeps_an_address_out_of_sight(monkeypatch):
    monkeypatch.setenv("MY_STORE", "postgresql://u:secret@h/db")
    assert resolve_env("env:MY_STORE") == "postgresql://u:secret@h/db"
    assert resolve_env("a.db") == "a.db"
    for address in ("env:NOT_SET_AT_ALL", "env:"):
        with pytest.raises(AddressError, match="is not set"):
            resolve_env(address)


@pytest.mark.parametrize(
    "address",
    ["env:postgresql://u:secret@h/db", "env:redis://:secret@h", "env:my-secret"],
)
def test_what_is_no_name_of_a_variable_is_not_shown(address):
    with pytest.raises(AddressError, match="not the name of a variable") as refused:
        resolve_env(address)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://u:secret@h:5/db?x=1", "postgresql://u:***@h:5/db?x=1"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("postgresql://h/db", "postgresql://h/db"),
        ("redis://:secret@h:1/0", "redis://:***@h:1/0"),
        ("postgresql://u:sec@ret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:sec/ret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:sec?ret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:sec:ret@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:secret@[::1]:5/db", "postgresql://u:***@[::1]:5/db"),
        ("postgresql://h/db?user=u&password=secret", None),
        ("postgresql://h/db?sslpassword=secret&x=1", None),
        ("redis+sentinel://u:secret@h:1,i:2/s/0", "redis+sentinel://u:***@h:1,i:2/s/0"),
        ("redis+sentinel://h/s?sentinel_password=secret", None),
        ("upstash+https://:secret@h", "upstash+https://:***@h"),
        ("upstash+https://secret@h:1/p", "upstash+https://:***@h:1/p"),
        ("https://secret@name.upstash.io", "https://:***@name.upstash.io"),
        ("UPSTASH+HTTP://secret:@h", "UPSTASH+HTTP://:***@h"),
        ("upstash+https://sec/ret=@h", "upstash+https://:***@h"),
        ("https://name.upstash.io/get/a?_token=secret", None),
        ("https://h/?access_token=secret&api-key=secret", None),
        ("host=h password=secret dbname=d", "host=h password=*** dbname=d"),
        ("entities.db", "entities.db"),
        ("sqlite:///u:secret@h.db", "sqlite:///u:***@h.db"),
        ("sqlite://u:secret@h/db", "sqlite://u:***@h/db"),
        ("postgres//u:secret@h/db", "postgres//u:***@h/db"),
        ("postgresql:/u:sec/re@t@h/db", "postgresql:/u:***@h/db"),
        ("u:secret@h:5432/db", "u:***@h:5432/db"),
        ("redis:u:secret@h:6379", "redis:u:***@h:6379"),
        ("redis//secret@h:6379", "redis//***@h:6379"),
        (" postgresql://u:secret@h/db", "postgresql://u:***@h/db"),
        ("'postgresql://u:secret@h/db'", "postgresql://u:***@h/db"),
        ("/data/u:secret@h/x.db", "/data/u:***@h/x.db"),
        ("C:/data/ana@x.org/x.db", "C:/data/ana@x.org/x.db"),
        ("/data/ana@x.org/x.db", "/data/ana@x.org/x.db"),
        ("module:factory", "module:factory"),
        ("mysql://u@h/db", "mysql://u@h/db"),
        ("mongodb://u:secret@h:1,i:2/db", "mongodb://u:***@h:1,i:2/db"),
        ("mongodb://h/db?tlsCertificateKeyFilePassword=secret", None),
        ("mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:secret", None),
        ("redis://secret@h/0", "redis://:***@h/0"),
        ("dynamodb://secret@TABLE", "dynamodb://:***@TABLE"),
        ("dynamodb://T?aws_access_key=secret&region=r", None),
        ("file://secret@h/x", "file://:***@h/x"),
        # A login that lost its host.
        ("redis://:secret", "redis://:***"),
        ("mysql://u:secret/db", "mysql://u:***"),
        ("mongodb://u:1secret", "mongodb://u:***"),
        ("postgresql://[::1]:5/db?x=a:b", "postgresql://[::1]:5/db?x=a:b"),
        ("redis+sentinel://h:1,i:2/s/0", "redis+sentinel://h:1,i:2/s/0"),
        ("host=h password='a secret' dbname=d", "host=h password=*** dbname=d"),
        (r"host=h password='a\' secret'", "host=h password=***"),
        ("host=h password='a secret", None),
        ("mongodb//u:secret@h/db", "mongodb//u:***@h/db"),
    ],
)
def test_passwords_are_not_shown(address, shown):
    found = redact_url(address)
    assert "secret" not in found
    assert "sec" not in found
    if shown is not None:
        assert found == shown
    # Showing what is shown already changes nothing.
    assert redact_url(found) == found


@pytest.mark.parametrize(
    "url",
    ["postgresql://u:pa@ss@h/db", "postgresql://u:pa/ss@h/db", "redis://:a/b@h"],
)
def test_a_login_that_drivers_misread_is_refused(url):
    with pytest.raises(AddressError, match="%40") as refused:
        check_login(url)
    assert "pa" not in str(refused.value).replace("password", "")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:pa%40ss@h/db",
        "postgresql://h/db?options=a@b",
        "postgresql://u:p@h/db?password=a@b",
        "postgresql:///db?host=/run/a@b",
        "postgresql://u:p@[::1]:5/db",
    ],
)
def test_other_logins_pass(url):
    check_login(url)
