"""Write LeRobot v3 datasets without LeRobot: parquet, video, statistics, tasks, episodes."""

from interlock.operators.lerobot_dataset.catalog import repair
from interlock.operators.lerobot_dataset.check import problems_of, summary_of
from interlock.operators.lerobot_dataset.episode import EpisodeRecorder
from interlock.operators.lerobot_dataset.hub import Destination, push
from interlock.operators.lerobot_dataset.layout import DatasetError
from interlock.operators.lerobot_dataset.writer import DatasetWriter

__all__ = [
    "DatasetError",
    "DatasetWriter",
    "Destination",
    "EpisodeRecorder",
    "problems_of",
    "push",
    "repair",
    "summary_of",
]
