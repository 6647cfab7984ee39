"""A hand-off between two roles.

Run it with ``python examples/hand_off.py``. It needs nothing but readmit.

A researcher leaves and a writer takes over the work. The writer was never part of the team, so it returns from a
departure at epoch 0: everything the team knows is new to it. It receives what its role needs and may see, as long as
that still holds. While something essential to the article is missing, the hand-off is blocked and names it. The
researcher's private notes are never handed over.
"""

from __future__ import annotations

from readmit import Policy, Workspace
from readmit.memory import Memory

TASK = "article"


def main() -> None:
    """Play it."""
    with Workspace.open(name="desk", policy=Policy(returns={"on_incomplete": "block"})) as desk:
        memory = Memory.open(desk, "scopedmem")

        # The writer's duty, and what it needs.
        brief = desk.observe("The article needs the figure, its source, and who may be quoted.", by="editor", task=TASK)
        desk.oblige(
            "Write the article",
            required=["d_figure", "d_quote"],
            critical=["d_figure", "d_quote"],
            sources=[brief],
            by="editor",
            roles=["writer"],
            task=TASK,
            id="write",
        )

        # The researcher's work. One statement is for researchers only.
        read = desk.observe("Report, page 4: 41 percent.", by="researcher", task=TASK)
        figure = desk.record(
            "The share is 41 percent.", slot="figure", supports=["d_figure"], sources=[read], by="researcher", task=TASK
        )
        spoke = desk.observe("The informant asks not to be named.", by="researcher", task=TASK, roles=["researcher"])
        informant = desk.record(
            "The informant is a clerk.", sources=[spoke], by="researcher", task=TASK, roles=["researcher"]
        )
        for text, item in (("Use 41 percent in the lead.", figure), ("Call the clerk again on Monday.", informant)):
            memory.form(text, sources=[item], by="researcher", verbatim=True)
        desk.agent("researcher", role="researcher", task=TASK).depart()

        # The writer takes over.
        writer = desk.agent("writer", role="writer", task=TASK)
        writer.depart(epoch=0)
        first = writer.come_back()
        print(f"1. The hand-off is {first.kind}. Still missing: {', '.join(first.missing)}")

        # The editor supplies it. Meanwhile the report is corrected.
        allowed = desk.observe("The minister may be quoted.", by="editor", task=TASK)
        quote = desk.record("Quote the minister.", supports=["d_quote"], sources=[allowed], by="editor", task=TASK)
        memory.form("The minister reads every quote before print.", sources=[quote], by="editor", verbatim=True)
        erratum = desk.observe("Erratum: 14 percent, not 41.", by="editor", task=TASK)
        desk.record(
            "The share is 14 percent.", slot="figure", supports=["d_figure"], sources=[erratum], by="editor", task=TASK
        )

        second = writer.come_back()
        bundle = second.expose()
        print(f"\n2. The hand-off is {second.kind}. What the writer receives:\n")
        for handed in bundle.items:
            print(f"   {handed.kind:12} {handed.text}")

        print("\n3. Why the rest stays behind, for the editor:")
        for one in second.dispositions:
            if not one.admitted:
                print(f"   {one.state:12} {', '.join(one.reasons):16} {desk.admin.log.item(one.item).text}")

        print("\n4. The researcher's memories, and what the writer can search of them:")
        print("   held:   ", [record.text for record, _ in memory.records()])
        print("   reached:", [hit.text for hit in memory.returned(bundle).records()])


if __name__ == "__main__":
    main()
