import { domainError, frameworkError } from '../answers.ts';
import { type AddRoutes, shownCluster, shownHost } from './shape.ts';

const roleFilters = ['auto-assign', 'master', 'arbiter', 'worker'];

/** The cluster and the list of its hosts, version 2. */
export const addClusterRoutes: AddRoutes = (app, store) => {
  app.get('/v2/clusters/:cluster', ({ req }) => {
    const cluster = store.cluster();
    if (req.param('cluster') !== cluster.id) return unknownCluster(req.param('cluster'));
    const withHosts = req.query('exclude-hosts') !== 'true';
    return Response.json(shownCluster(cluster, withHosts ? store.hosts() : undefined));
  });
  app.get('/v2/clusters/:cluster/hosts', ({ req }) => {
    if (req.param('cluster') !== store.cluster().id) return unknownCluster(req.param('cluster'));
    const role = req.query('role');
    if (role !== undefined && !roleFilters.includes(role)) {
      return frameworkError(400, `role in query should be one of [${roleFilters.join(' ')}]`);
    }
    const listed = store.hosts().filter((host) => role === undefined || host.role === role);
    const withInventory = req.query('with-inventory') === 'true';
    return Response.json(listed.map((host) => shownHost(host, withInventory)));
  });
};

/** The answer for a cluster that the service does not have. */
export const unknownCluster = (id: string): Response => domainError(404, `cluster ${id} not found`);
