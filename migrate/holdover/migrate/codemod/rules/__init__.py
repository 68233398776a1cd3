"""The rules, one module each; a new one is found by being here."""
