"""A store whose schema was changed is refused by name, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import TamperedError

if TYPE_CHECKING:
    from tests.postgres import Server

CHANGES = {
    "CREATE INDEX odd ON {s}.audience (ws) WHERE epoch > 5": "the index 'odd' is none of readmit's",
    "CREATE VIEW {s}.seen AS SELECT * FROM {s}.event": "the view 'seen' is none of readmit's",
    "CREATE RULE hide AS ON DELETE TO {s}.about DO INSTEAD NOTHING": "the rule 'about.hide' is none of readmit's",
    "ALTER TABLE {s}.event DISABLE TRIGGER append_only": "the trigger 'event.append_only' is not as readmit made it",
    "DROP TRIGGER append_only ON {s}.audit": "the trigger 'audit.append_only' is not there",
    "ALTER TABLE {s}.about ADD COLUMN more TEXT": "the table 'about' is not as readmit made it",
    "ALTER TABLE {s}.about NO FORCE ROW LEVEL SECURITY": "the table 'about' is not as readmit made it",
    "CREATE POLICY wide ON {s}.event USING (true)": "the policy 'event.wide' is none of readmit's",
    "CREATE FUNCTION {s}.sly() RETURNS int LANGUAGE sql AS 'SELECT 1'": "the function 'sly' is none of readmit's",
}


def test_another_schema_on_a_server_is_refused_by_the_name_of_the_object(server: Server) -> None:
    for number, (change, said) in enumerate(CHANGES.items()):
        schema = f"altered{number}"
        with Workspace.open(server.url(schema)) as team:
            team.observe("The hotel confirms.", by="bob")
        server.sql(change.format(s=schema), database="team")
        with pytest.raises(TamperedError) as refused:
            Workspace.open(server.url(schema))
        assert said in str(refused.value)
