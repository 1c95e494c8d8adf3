"""The scenario stage: from a YAML file to a `Scenario` in which every value is checked.

    model          the schema: every section a class, every key a field
    limits         how long a message can be, and how many there can be
    quantities     times, rates and sizes as text in the file and integers in the model
    expectations   what ``expect`` may say, and how it is judged against a run's summary
    load           `load_scenario`, the checker: reads, overrides, checks, and reports all mistakes in one go

The checker's parts: `document` (the values of a file, and the place of each), `reading` (YAML to a document),
`overrides` (``--set``), `schema` (what may stand where), `structure` (the document against the schema), `semantics`
(names, sums and orders, against the plan of the fabric), `wording` and `wording_sizes` (every message).

`load` and `semantics` build the plan to know the names of hosts, ports and links. They are the only modules of this
package that import a later stage; nothing but the command line and the run imports them.
"""
