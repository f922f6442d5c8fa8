// The registries that simulated hosts reach, as one world: who may do what in which of them, and
// when one is away.

/** An image as a registry or the store of a simulated host has it. */
export interface HeldImage {
  readonly digest: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Name of the rendered MachineConfig that it keeps a copy of. */
  readonly currentConfig?: string | undefined;
}

/** Somebody whom a registry knows. */
interface RegistryUser {
  /** `name:password`, as a pull secret has it behind its base64. */
  readonly credentials: string;
  readonly may: 'pull' | 'push';
}

/** A registry of a run. */
export interface RegistryPlan {
  /** HOST[:PORT] */
  readonly host: string;
  readonly users: readonly RegistryUser[];
  /** Nobody reaches it, as the world outside of a site without a way out. */
  readonly isUnreachable?: boolean;
  /** It dies at the first image that is pushed to it, and is away for this long. */
  readonly diesForSeconds?: number | undefined;
}

/** Somebody asks a registry. */
interface RegistryRequest {
  /** Name of the host that asks. */
  readonly by: string;
  readonly verb: 'pull' | 'push';
  /** HOST/PATH:TAG or HOST/PATH@DIGEST */
  readonly image: string;
  /** `name:password`; undefined without any. */
  readonly credentials: string | undefined;
}

/** What a registry was asked for. */
interface RegistryAsk extends Omit<RegistryRequest, 'credentials'> {
  readonly registry: string;
  /** Words of the refusal. */
  readonly refusal: string | undefined;
}

/** All registries of a run. */
export type RegistryNetwork = ReturnType<typeof registryNetwork>;

/** The registry of a pull spec. */
export const registryOf = (image: string): string => image.split('/')[0] ?? '';

/** Opens registries without images; `now` gives milliseconds. */
export function registryNetwork(plans: readonly RegistryPlan[], now: () => number = Date.now) {
  const asked: RegistryAsk[] = [];
  const awayUntil = new Map<string, number>();
  const pullsToDie = new Map<string, { readonly seconds: number; readonly died: () => void }>();
  const answer = (request: RegistryRequest): string | undefined => {
    const registry = registryOf(request.image);
    const plan = plans.find(({ host }) => host === registry);
    if (plan === undefined) return `dial tcp: lookup ${registry}: no such host`;
    if (plan.isUnreachable === true) return `dial tcp ${registry}: connect: no route to host`;
    const until = awayUntil.get(registry);
    const dies = request.verb === 'pull' ? pullsToDie.get(request.by) : undefined;
    const onPush = until === undefined && request.verb === 'push' ? plan.diesForSeconds : undefined;
    const seconds = dies?.seconds ?? onPush;
    if (seconds !== undefined) {
      dies?.died();
      pullsToDie.delete(request.by);
      awayUntil.set(registry, now() + seconds * 1000);
      return `read tcp ${registry}: read: connection reset by peer`;
    }
    if (until !== undefined && now() < until) {
      return `dial tcp ${registry}: connect: connection refused`;
    }
    return refusalOf(plan, request);
  };
  return {
    /** By name, with a tag or with a digest. */
    images: new Map<string, HeldImage>(),
    /** Every question so far, registries that hosts run themselves left out. */
    asked: asked as readonly RegistryAsk[],
    /**
     * Lets a registry die at the next pull of a host, and be away for so long; calls back when it
     * has.
     */
    dieAtPull: (by: string, seconds: number, died: () => void): unknown =>
      pullsToDie.set(by, { seconds, died }),
    /** How it would refuse, without its being noticed. */
    refusal: answer,
    /**
     * Asks a registry: how it refuses, in the words of Go's programs; undefined when it does not.
     */
    reach: (request: RegistryRequest): string | undefined => {
      const refusal = answer(request);
      const { by, verb, image } = request;
      asked.push({ by, verb, image, registry: registryOf(image), refusal });
      return refusal;
    },
  };
}

function refusalOf(
  { users }: RegistryPlan,
  { credentials, verb, image }: RegistryRequest,
): string | undefined {
  const user = users.find((one) => one.credentials === credentials);
  if (user === undefined) return `reading manifest ${image}: unauthorized: authentication required`;
  return verb === 'push' && user.may !== 'push'
    ? `writing blob: denied: requested access to ${image} is denied`
    : undefined;
}

/** The credentials for a registry in the text of a pull secret; undefined when it has none. */
export function credentialsIn(pullSecret: string, registry: string): string | undefined {
  const { auths = {} } = JSON.parse(pullSecret) as {
    readonly auths?: Readonly<Record<string, { readonly auth?: string }>>;
  };
  const auth = auths[registry]?.auth;
  return auth === undefined ? undefined : Buffer.from(auth, 'base64').toString('utf8');
}

/** An entry of registries.conf with what stands in for it. */
interface MirroredPrefix {
  readonly prefix: string;
  readonly mirrors: readonly string[];
}

/**
 * The places at which an image is looked for, in their order: mirrors of the longest prefix, then
 * the place itself (containers-registries.conf(5), version 2). No more of the format is read than
 * the agent and the lab write.
 */
export function placesOf(settings: string, image: string): readonly string[] {
  const [found] = entriesIn(settings)
    .filter(({ prefix }) => isBelow(image, prefix))
    .toSorted((one, other) => other.prefix.length - one.prefix.length);
  if (found === undefined) return [image];
  const rest = image.slice(found.prefix.length);
  return [...found.mirrors.map((mirror) => `${mirror}${rest}`), image];
}

const isBelow = (image: string, prefix: string): boolean =>
  prefix !== '' && image.startsWith(prefix) && /^([/:@]|$)/.test(image.slice(prefix.length));

function entriesIn(settings: string): readonly MirroredPrefix[] {
  return settings
    .split(/^\[\[registry\]\]$/m)
    .slice(1)
    .map((entry) => {
      const [own = '', ...mirrors] = entry.split(/^\s*\[\[registry\.mirror\]\]$/m);
      return {
        prefix: valueIn(own, 'prefix') ?? valueIn(own, 'location') ?? '',
        mirrors: mirrors.flatMap((mirror) => valueIn(mirror, 'location') ?? []),
      };
    });
}

const valueIn = (text: string, key: string): string | undefined =>
  new RegExp(`^\\s*${key}\\s*=\\s*"([^"]*)"`, 'm').exec(text)?.[1];

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

/** Registries that there are only in the lab, and one user for all of them, who may not push. */
const hosts = [
  'registry.example.test',
  'quay.example.test',
  'images.partner.test',
  'mirror.site.test:8443',
];

/** A pull secret for registries that there are not. */
export const labPullSecret = JSON.stringify({
  auths: Object.fromEntries(
    hosts.map((host) => [
      host,
      { auth: inBase64('lab:not-a-password'), email: 'lab@example.test' },
    ]),
  ),
});
