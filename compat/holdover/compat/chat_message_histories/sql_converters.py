"""Message converters: how an application's own table of messages is read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage, message_to_dict

from holdover.compat.errors import UnportableValue
from holdover.compat.legacy.histories import read_message
from holdover.compat.message_records import message_from
from holdover.compat.sql_engines import sqlalchemy

__all__ = ["BaseMessageConverter", "DefaultMessageConverter"]


class BaseMessageConverter(ABC):
    """The contract of converters, as classic's class of this name promises it.

    Only `from_sql_model` and `get_sql_model_class` are used: nothing is written to an
    old table.
    """

    @abstractmethod
    def from_sql_model(self, sql_message: Any) -> BaseMessage:
        """Make a message of a row."""

    @abstractmethod
    def to_sql_model(self, message: BaseMessage, session_id: str) -> Any:
        """Make a row of a message."""

    @abstractmethod
    def get_sql_model_class(self) -> Any:
        """Give the SQLAlchemy model."""


class DefaultMessageConverter(BaseMessageConverter):
    """The classic layout: `id`, `session_id`, and `message` as JSON text."""

    def __init__(self, table_name: str) -> None:
        self.table_name = table_name

    @cached_property
    def model_class(self) -> Any:
        """The model; made when it is asked for."""
        package = sqlalchemy()
        from sqlalchemy.orm import declarative_base  # noqa: PLC0415 - loads long

        fields = {
            "__tablename__": self.table_name,
            "id": package.Column(package.Integer, primary_key=True),
            "session_id": package.Column(package.Text),
            "message": package.Column(package.Text),
        }
        return type("Message", (declarative_base(),), fields)

    def from_sql_model(self, sql_message: Any) -> BaseMessage:
        """Make a message of a row; raises `ValueError` where it holds none."""
        content = read_message(sql_message.message)
        if content is None:
            raise UnportableValue("A row holds no message.")
        return message_from(content["type"], content["data"])

    def to_sql_model(self, message: BaseMessage, session_id: str) -> Any:
        """Make a row of a message."""
        text = json.dumps(message_to_dict(message))
        return self.model_class(session_id=session_id, message=text)

    def get_sql_model_class(self) -> Any:
        """Give the model."""
        return self.model_class
