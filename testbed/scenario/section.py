"""A mapping of the scenario: what every section of the model is made of."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A mapping of the scenario: unknown keys are mistakes, values never change once checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)
