import { clusterFileNamesV1 } from '../ignition-files.ts';
import { giveClusterFile } from './downloads.ts';
import { takeLogs } from './logs.ts';
import { takeProgress } from './progress.ts';
import { unknownCluster } from './clusters.ts';
import { type AddRoutes, shownCluster, shownHost } from './shape.ts';

/**
 * Version 1 of the interface, as of August 2020: no infra-envs, one Ignition for each role, every
 * host of the cluster in one list.
 */
export const addV1Routes: AddRoutes = (app, store) => {
  app.put('/clusters/:cluster/hosts/:host/progress', (context) =>
    takeProgress(context, store, 'v1'),
  );
  app.get('/clusters/:cluster/downloads/files', ({ req }) =>
    giveClusterFile(store, clusterFileNamesV1, {
      cluster: req.param('cluster'),
      name: req.query('file_name') ?? '',
    }),
  );
  app.get('/clusters/:cluster/hosts', ({ req }) =>
    req.param('cluster') === store.cluster().id
      ? Response.json(store.hosts().map((host) => shownHost(host, true)))
      : unknownCluster(req.param('cluster')),
  );
  app.get('/clusters/:cluster', ({ req }) =>
    req.param('cluster') === store.cluster().id
      ? Response.json(shownCluster(store.cluster(), store.hosts()))
      : unknownCluster(req.param('cluster')),
  );
  app.post('/clusters/:cluster/hosts/:host/logs', (context) =>
    takeLogs(context, store, context.req.param('host')),
  );
};
