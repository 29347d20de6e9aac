"""Asks a store what dashboards ask, by their own client library. Arguments: port, CA, key, certificate."""
import json
import sys

import pypuppetdb
from pypuppetdb.QueryBuilder import AndOperator, EqualsOperator, ExtractOperator, FunctionOperator, InOperator, SubqueryOperator

port, ca, key, certificate = sys.argv[1:]
db = pypuppetdb.connect(host="localhost", port=int(port), protocol="https", ssl_verify=ca, ssl_key=key, ssl_cert=certificate, timeout=60)

of_web = EqualsOperator("certname", "web01.example.com")
counts = ExtractOperator()
counts.add_field(FunctionOperator("count"))
counts.add_field("status")
counts.add_group_by("status")
production = AndOperator()
production.add(EqualsOperator("environment", "production"))
production.add(EqualsOperator("status", "success"))
names = ExtractOperator()
names.add_field("certname")
names.add_query(SubqueryOperator("events"))
changed = InOperator("certname")
changed.add_query(names)

web = db.node("web01.example.com")
report = next(web.reports(limit=1, order_by='[{"field": "start_time", "order": "desc"}]'))
print(json.dumps({
    "version": db.current_version(),
    "nodes": {n.name: n.status for n in db.nodes(with_status=True, unreported=10**7)},
    "changed": sorted(n.name for n in db.nodes(query=changed)),
    "report": {"node": report.node, "status": report.status, "environment": report.environment, "run": str(report.run_time), "logs": len(report.logs)},
    "events": [[e.item["type"], e.item["title"], e.status, e.item["message"]] for e in report.events()],
    "filtered": len(list(db.events(query=production))),
    "counts": [db.event_counts(query=of_web, summarize_by="certname")[0][k] for k in ("successes", "failures", "noops", "skips")],
    "aggregate": [a["total"] for a in db.aggregate_event_counts(summarize_by="certname")],
    "grouped": db._query("events", query=counts),
    "environments": [e["name"] for e in db.environments()],
    "unkept": [len(list(l)) for l in (db.facts(), db.fact_names(), db.factsets(), db.inventory(), db.resources(), db.catalogs(), web.facts())],
}))
