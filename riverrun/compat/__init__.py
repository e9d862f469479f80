"""Other projects' names on top of riverrun: ``riverrun.compat.pyflink`` lets PyFlink scripts run unchanged."""
