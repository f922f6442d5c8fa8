import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of requests to the inventory service. */
export const inventoryFailures = {
  'inventory.denied': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service rejects the token',
    hint: 'check the token in PULL_SECRET_TOKEN or service.tokenFile, which is sent as X-Secret-Key: the service must have issued it for this infra-env; a discovery image that is downloaded again has a new one',
  },
  'inventory.not-found': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service does not have the requested record',
    hint: 'check --cluster-id, --infra-env-id and --host-id, and that the host is bound to the cluster; a service from before August 2021 needs --service.api v1',
  },
  'inventory.not-ready': {
    kind: 'remote',
    title: 'The inventory service does not have what is asked for yet',
    hint: 'the message names the missing data; the agent asks again until the service has it',
  },
  'inventory.refused': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service refuses this in the current state of the host or cluster',
    hint: 'check the state of host and cluster in the service; the installation may have been cancelled',
  },
  'inventory.rejected': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service rejects the request as malformed',
    hint: 'check --cluster-id, --infra-env-id and --host-id; an older service needs --service.api v1, a newer one v2',
  },
  'inventory.unreachable': {
    kind: 'remote',
    title: 'The inventory service is unreachable or fails',
    hint: 'check --url, name resolution, routes and proxies (HTTPS_PROXY, NO_PROXY) of the host, and the service itself',
  },
  'inventory.untrusted': {
    kind: 'remote',
    isFinal: true,
    title: 'The certificate of the inventory service is not trusted',
    hint: 'give the CA of the service in PEM with --cacert FILE (setting service.caFile): "openssl s_client -showcerts -connect HOST:PORT" shows who signed its certificate; where that has expired or is not valid yet, check the clock of the host',
  },
  'inventory.unreadable': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service sent an answer that cannot be parsed',
    hint: 'check that the URL leads to the inventory service and not to a proxy or login page',
  },
} as const satisfies FailureTable;

/** Builds an error of the inventory service. */
export const inventoryFailure = failuresOf(inventoryFailures);

/** Failures of reading URLs. */
export const webFailures = {
  'web.unreachable': {
    kind: 'remote',
    title: 'A URL is unreachable, or its server fails',
    hint: 'check the URL, name resolution, routes and proxies of the host',
  },
  'web.refused': {
    kind: 'remote',
    isFinal: true,
    title: 'A server refuses a URL',
    hint: 'check the URL and the access rights on the server',
  },
  'web.untrusted': {
    kind: 'remote',
    isFinal: true,
    title: 'The certificate of a server is not trusted',
    hint: 'give the CA of the server in PEM with --cacert FILE (setting service.caFile), or put the CA into the trust store of the host; check the clock of the host too',
  },
  'web.bad-authority': {
    kind: 'input',
    title: 'A CA file or text holds no readable certificate',
    hint: 'give a PEM file with at least one certificate',
  },
  'web.cut': {
    kind: 'media',
    title: 'A download stopped before its end',
    hint: 'run the same "podman run" line again; if it fails again, check the network and the server',
  },
} as const satisfies FailureTable;

/** Builds an error of reading a URL. */
export const webFailure = failuresOf(webFailures);
