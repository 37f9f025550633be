"""The hostile run: concurrent writers at their worst, a relay killed again and again, and a judge.

Written against public contracts only (tables, commands, topics), so that no fault of the
package can hide itself here.
"""
