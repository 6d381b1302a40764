"""Jobs beside the engines: calibration, building profiles, self-tests, tuning."""
