"""``rocelab policies``: what the controller can do with the fabric, and the options of each policy."""

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from controllers.policy.options import Option


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of objects with name, summary and options.")
def policies(as_json: bool) -> None:
    """List the policies that come with rocelab, and their options.

    A scenario names one in its controller section, with options: {policy: {kind: adaptive-ecn, kmin: 50KB}}.
    """
    found = described_policies()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for number, policy in enumerate(found):
        click.echo(f"{chr(10) if number else ''}{policy['name']}  {policy['summary']}")
        width = max(len(_setting(option)) for option in policy["options"])
        for option in policy["options"]:
            click.echo(f"    {_setting(option):<{width}}  {option['help']}")


def _setting(option: dict[str, Any]) -> str:
    return f"{option['name']}: {option['default']}"


def described_policies() -> list[dict[str, Any]]:
    """Return name, summary, needs and options of each policy that comes with rocelab, by name."""
    from controllers.policy.catalogue import builtin_policy, policy_names
    from controllers.policy.options import options_of, summary_of

    return [
        {
            "name": name,
            "summary": summary_of(builtin_policy(name)),
            "needs": [need for need in (builtin_policy(name).needs_app, builtin_policy(name).needs_section) if need],
            "options": [_described(option) for option in options_of(builtin_policy(name))],
        }
        for name in policy_names()
    ]


def _described(option: "Option") -> dict[str, str]:
    return {
        "name": option.name,
        "type": option.expected,
        "default": "(required)" if option.required else option.text(option.default),
        "help": option.help,
    }
