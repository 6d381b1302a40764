"""Searches with profiles: their form, logos, filters, calibration and ladder."""
