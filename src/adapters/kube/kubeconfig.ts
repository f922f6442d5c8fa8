import * as z from 'zod';
import { addressReadFrom, addressRule } from '../../lib/address.ts';
import { SecretUrl } from '../../lib/secret-url.ts';
import { yamlIn } from '../../lib/yaml-text.ts';
import { Secret } from '../../model/secret.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';

/** An empty text counts as a missing one. */
const text = z
  .string()
  .nullish()
  .transform((value) => (value === null || value === '' ? undefined : value));

const Cluster = z.object({
  server: z.string().min(1),
  'certificate-authority-data': text,
  'certificate-authority': text,
  'insecure-skip-tls-verify': z.boolean().nullish(),
  'tls-server-name': text,
  'proxy-url': text,
});

const User = z.object({
  'client-certificate-data': text,
  'client-certificate': text,
  'client-key-data': text,
  'client-key': text,
  token: text,
  /** The field's name in kubectl, and the name in other clients. */
  tokenFile: text,
  'token-file': text,
  username: text,
  password: text,
  as: text,
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
});

const Context = z.object({ cluster: z.string().min(1), user: text });

/** The used fields of a kubeconfig (k8s.io/client-go, `clientcmd/api/v1`). */
const Kubeconfig = z.object({
  'current-context': text,
  clusters: z.array(z.object({ name: z.string(), cluster: Cluster })).nullish(),
  users: z.array(z.object({ name: z.string(), user: User.nullish() })).nullish(),
  contexts: z.array(z.object({ name: z.string(), context: Context })).nullish(),
});

/** Address and credentials of an API server. */
export interface ClusterAccess {
  /** Base URL without a slash at its end. */
  readonly server: string;
  /** PEM; default: the system's authorities. */
  readonly ca: string | undefined;
  /** Expected name in the server's certificate, instead of the name in the URL. */
  readonly serverName: string | undefined;
  /** Proxy for this server, instead of the environment's. */
  readonly proxy: SecretUrl | undefined;
  /** Do not verify the server. */
  readonly isInsecure: boolean;
  /** PEM. */
  readonly certificate: string | undefined;
  /** PEM. */
  readonly key: Secret | undefined;
  /** Value of the Authorization header. */
  readonly authorization: Secret | undefined;
  readonly impersonate: string | undefined;
}

/**
 * Reads the current context of a kubeconfig. It must contain its certificates and keys, as the
 * installer writes it: a path in it would refer to another machine. Credential plugins are not run,
 * and a proxy must be http or https.
 * @throws AgentError `kube.bad-credentials`, which never shows the text
 */
export function readKubeconfig(text: string): ClusterAccess {
  const { cluster, user } = currentOf(parsed(text));
  refuseFiles({ ...cluster, ...user });
  const url = URL.parse(cluster.server.trim());
  if (url === null || !/^https?:$/.test(url.protocol))
    throw bad('the server of its cluster is not a URL');
  if (url.username + url.password !== '')
    throw bad('the server of its cluster has a user in it; give username and password instead');
  refuseMisread('the server of its cluster', cluster.server);
  const ca = cluster['certificate-authority-data'];
  const certificate = user['client-certificate-data'];
  const key = user['client-key-data'];
  return {
    server: `${url.origin}${url.pathname.replace(/\/$/, '')}`,
    isInsecure: cluster['insecure-skip-tls-verify'] === true,
    ca: ca ? decode(ca) : undefined,
    serverName: cluster['tls-server-name'],
    proxy: proxyIn(cluster),
    certificate: certificate ? decode(certificate) : undefined,
    key: key ? new Secret(decode(key)) : undefined,
    authorization: authorizationOf(user),
    impersonate: user.as,
  };
}

interface Current {
  readonly cluster: z.output<typeof Cluster>;
  readonly user: z.output<typeof User>;
}

function currentOf(config: z.output<typeof Kubeconfig>): Current {
  const name = config['current-context'];
  const context = config.contexts?.find((one) => one.name === name)?.context;
  const cluster = config.clusters?.find((one) => one.name === context?.cluster)?.cluster;
  const user = config.users?.find((one) => one.name === context?.user);
  if (cluster !== undefined && user !== undefined)
    return { cluster, user: user.user ?? User.parse({}) };
  throw bad(`the current context ${JSON.stringify(name)} has no cluster or no user in it`);
}

function parsed(text: string): z.output<typeof Kubeconfig> {
  // The parser's message of an error can contain the line with the key.
  const { data, error } = Kubeconfig.safeParse(yamlIn(text));
  if (data !== undefined) return data;
  const path = error.issues[0]?.path.join('.') ?? '';
  throw bad(path === '' ? 'it is not a YAML mapping' : `${path} is missing or has the wrong type`);
}

function refuseFiles(given: Partial<Current['cluster'] & Current['user']>): void {
  const keys = ['certificate-authority', 'client-certificate', 'client-key'] as const;
  const file = keys.map((key) => given[key]).find((one) => one);
  if (file) throw bad(`it refers to the file ${file}; embed the content instead`);
  if (given.tokenFile || given['token-file']) {
    throw bad('it refers to the file of a token; embed the token instead');
  }
}

function refuseMisread(what: string, url: string): void {
  const address = addressReadFrom(url);
  if (address !== undefined) throw bad(`${what} leads to ${address}; write ${addressRule}`);
}

function proxyIn({ 'proxy-url': url }: Current['cluster']): SecretUrl | undefined {
  if (!url) return undefined;
  refuseMisread('its proxy-url', url);
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return new SecretUrl(url);
  throw bad('its proxy-url is not the URL of a proxy by http or https; others are not used');
}

function authorizationOf(user: Current['user']): Secret | undefined {
  const { token, username, password, as } = user;
  if (/[^\t -~\u0080-\u00ff]/.test(`${token?.trim() ?? ''}${as ?? ''}`))
    throw bad('its token, or its user to act as, has a character that no HTTP header carries');
  if (token) return new Secret(`Bearer ${token.trim()}`);
  if (username) {
    const pair = Buffer.from(`${username}:${password ?? ''}`);
    return new Secret(`Basic ${pair.toString('base64')}`);
  }
  const program = (['exec', 'auth-provider'] as const).find((key) => user[key]);
  if (program !== undefined && !user['client-certificate-data'])
    throw bad(`its credentials come from a program (${program}), which is not run; embed a token`);
  return undefined;
}

const decode = (data: string): string => Buffer.from(data, 'base64').toString('utf8');

const bad = (why: string): Error => kubeFailure('kube.bad-credentials', `the kubeconfig: ${why}`);
