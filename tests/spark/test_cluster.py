"""A real cluster, of which a part is lost."""

from __future__ import annotations

from pathlib import Path

from tests.spark.cluster import Cluster, wait_for


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """All buckets wait until the worker is killed, so that it is lost in the middle at any speed."""
    lost, kept = (str(worker.log.parent) for worker in cluster.workers)

    def buckets_on(folder: str) -> int:
        return sum(path.read_text().startswith(folder) for path in tmp_path.iterdir())

    with cluster.driver("-m", "tests.spark.waiting_sums", cluster.master, str(tmp_path)) as driver:
        try:
            wait_for(lambda: driver.poll() is not None or (buckets_on(lost) and buckets_on(kept)))
            cluster.workers[0].kill()
            (tmp_path / "go").touch()
            output, errors = driver.communicate(timeout=240)
        finally:
            driver.kill()
    assert (output, errors) == ("right\n", "")
    assert buckets_on(lost) == 1
    assert buckets_on(kept) >= 12, "the bucket that was lost was computed again"
