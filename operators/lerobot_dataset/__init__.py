"""Write LeRobot v3 datasets without LeRobot: parquet, video, statistics, tasks, episodes."""
