"""A repository's present configuration on GitHub, and its name. Network and database I/O."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from distriage.base.errors import ConfigError, NotFoundError
from distriage.base.references import REPOSITORY, IssueReference
from distriage.github.client import Client
from distriage.github.forms import forget_forms
from distriage.github.renamed import name_today
from distriage.model.taxonomy import Taxonomy
from distriage_serving.bot.follow_up import Done
from distriage_serving.configuration.file import dump_config
from distriage_serving.configuration.lacking import lacking
from distriage_serving.configuration.model import CONFIG_PATH, RepositoryConfig
from distriage_serving.configuration.names import resolve
from distriage_serving.github.files import read_config
from distriage_serving.github.labels import read_labels
from distriage_serving.logs import log
from distriage_serving.store import Job, Store, triage_job


@dataclass(frozen=True, slots=True)
class CurrentConfig:
    """The configuration to use.

    Attributes:
        config: While the file is broken, the last good one, else the default one.
    """

    config: RepositoryConfig
    error: str | None = None


def current_config(
    client: Client, store: Store, taxonomy: Taxonomy, repository: str, installation_id: int | None
) -> CurrentConfig:
    """Read the configuration, note whether it is broken, and once repaired release the waiting issues.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    try:
        config = read_config(client, repository, CONFIG_PATH, taxonomy)
    except ConfigError as error:
        store.save_repository(repository, installation_id=installation_id, config_error=str(error))
        return CurrentConfig(last_config(store, repository), error=str(error))
    values = {"installation_id": installation_id, "config": dump_config(config), "config_error": None}
    with store.transaction():
        known = store.get_repository(repository, lock=True)  # another reader may have held issues meanwhile
        is_new = known is None or known.config != values["config"]
        if known is None or any(getattr(known, name) != value for name, value in values.items()):
            store.save_repository(repository, **values)
        if known is not None and known.config_error is not None:
            for issue in store.held_issues(repository):
                store.put_job(triage_job(issue, installation_id))
    if is_new and not config.create_labels:
        there, _ = read_labels(client, repository)
        for line in lacking(resolve(config, taxonomy, there), there):
            log(logging.WARNING, "label_missing", repository=repository, reason=line)
    return CurrentConfig(config)


def last_config(store: Store, repository: str) -> RepositoryConfig:
    """The last configuration read."""
    known = store.get_repository(repository)
    return _last_good(known.config if known is not None else None)


def configure(client: Client, store: Store, taxonomy: Taxonomy, job: Job) -> Done:
    """Read a changed configuration.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    forget_forms(client, job.repository)
    return Done(current_config(client, store, taxonomy, job.repository, job.installation_id).error)


def followed(client: Client, store: Store, repository: str) -> str | None:
    """Move stored data of a renamed repository to its new name.

    Returns:
        That name, as GitHub writes it; None if unchanged or gone.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    name = name_today(client, repository)
    if name is None or name.casefold() == repository.casefold():
        return None
    store.rename_repository(repository, name)
    return name


def take_stock(client: Client, store: Store, installation_id: int) -> Done:
    """Ask GitHub which repositories an installation has.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    pages = client.pages("/installation/repositories", {}, key="repositories")
    names = [name for items, _ in pages for item in items if isinstance(name := item.get("full_name"), str)]
    names = [name for name in names if REPOSITORY.fullmatch(name)]
    here = {name.lower() for name in names}
    with store.transaction():
        rows = store.list_repositories(enabled=True, installation_id=installation_id)
        store.disable_repositories(installation_id, [row.name for row in rows if row.name not in here])
        store.enable_repositories(installation_id, names)
    return Done()


def is_deleted(client: Client, issue: IssueReference, error: NotFoundError) -> bool:
    """Whether an issue that GitHub does not show was deleted; else its repository is hidden, perhaps for a while.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    try:
        repository = client.json(f"/repos/{issue.repository}")
    except NotFoundError:
        return error.status == 410
    return repository.get("has_issues") is not False  # while issues are switched off, all are shown as deleted


def _last_good(stored: object) -> RepositoryConfig:
    """A stored configuration; the default one if a later version no longer accepts it."""
    try:
        return RepositoryConfig.model_validate(stored) if stored is not None else RepositoryConfig()
    except ValueError:
        return RepositoryConfig()
