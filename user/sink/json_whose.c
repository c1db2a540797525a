// SPDX-License-Identifier: Apache-2.0
/* Whose container, pod, unit or job it is. */
#include "judge/whose.h"
#include "sink/json.h"
#include "sink/json_parts.h"

void json_whose(struct buf *buf, const struct incident *incident, const struct judgement *judgement)
{
	const struct container_path *where = &judgement->where;

	json_add_string(buf, "container_id", where->id);
	json_add_string(buf, "container_name", whose_container(incident, judgement));
	json_add_string(buf, "pod_name", incident->names.pod);
	json_add_string(buf, "pod_namespace", incident->names.namespace);
	json_add_string(buf, "pod_uid", whose_pod_uid(incident, judgement));
	json_add_string(buf, "pod_qos", pod_qos_name(where->qos));
	json_add_string(buf, "runtime", container_runtime_name(judgement->runtime));
	json_add_string(buf, "node_container_id", where->node_id);
	if (!incident->victim_cgroup[0])
		return; /* the path is the limit's */
	json_add_string(buf, "victim_job", where->job);
	json_add_string(buf, "victim_step", where->step);
}

void json_whose_cgroup(struct buf *buf, const char *path, const struct container_names *names)
{
	struct container_path parsed;
	bool known = names && names->container[0];

	parse_container_path(path, &parsed);
	json_add_string(buf, "container_id", parsed.id);
	json_add_string(buf, "container_name", known ? names->container : parsed.name);
	json_add_string(buf, "pod_name", names ? names->pod : NULL);
	json_add_string(buf, "pod_namespace", names ? names->namespace : NULL);
	json_add_string(buf, "pod_uid", parsed.pod_uid);
}
