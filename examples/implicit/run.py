"""Play the cases offline: extract, depart, hear news, plan, link, judge, return, answer.

python examples/implicit/run.py              all of them
python examples/implicit/run.py bookstore    one of them
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES

from readmit import Policy, Workspace
from readmit.inference import Inference
from readmit.models import Opinion, Question, Recorded, opine

if TYPE_CHECKING:
    from cases import Case

    from readmit.models import Model

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
ANSWERS = Path(__file__).parent / "answers.jsonl"


def play(case: Case, model: Model) -> None:
    """One case, from the first conversation to the answer."""
    print(f"== {case.title}")
    # Recorded answers belong to requests with these very times in them.
    clock = (START + timedelta(seconds=tick) for tick in count())
    with Workspace.open(
        name=case.name, policy=Policy(returns={"fill": "always"}), clock=lambda: next(clock)
    ) as workspace:
        inference = Inference(
            workspace,
            verifier=model,
            implier=model,
            extractor=model,
            planner=model,
            linker=model,
            embedder="lexical",
        )
        agent = workspace.agent("A1", role="assistant", task="advice")
        inference.converse(case.before, by="A1", speakers=("user",), task="advice")
        agent.depart()
        for conversation in case.absence:
            inference.converse(conversation, by="A5", speakers=("user",), task="advice")
        planned = inference.plan(case.question, by="A1", role="assistant", task="advice")
        returned = inference.come_back(agent)
        for one in returned.dispositions:
            item = workspace.admin.log.item(one.item)
            if one.item not in planned.obligations:
                print(f"  {one.state:15} {item.text}")
                for cause in one.causes:
                    print(f"  {'':15} because: {cause.note}")
        print(f"  the return is {returned.kind}", *(f"; missing: {name}" for name in returned.missing))
        if returned.admitted:
            context = "\n".join(item.text for item in returned.expose().items)
            (opinion,) = opine(model, [Question(text=case.question, context=context)], workspace=workspace.name)
            answer = opinion.answer if isinstance(opinion, Opinion) else None
            print(f"  answer: {answer or 'none: the model says that the context does not settle it'}")
    print()


def main(names: list[str]) -> int:
    """Play some cases, or all."""
    unknown = set(names) - {case.name for case in CASES}
    if unknown:
        print(
            f"no case {', '.join(sorted(unknown))}; there are {', '.join(case.name for case in CASES)}", file=sys.stderr
        )
        return 2
    model = Recorded(ANSWERS)
    for case in CASES:
        if not names or case.name in names:
            play(case, model)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
