"""The stages that ask a model: each builds requests, reads typed answers and checks them in code.

No stage stores anything, reads a clock or decides a return. A model's answer is a claim until its quotes are found, and
a missing or unusable answer is a ``Failure`` or an *unsure*, never an approval.
"""
