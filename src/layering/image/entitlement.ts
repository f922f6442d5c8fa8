/** What a build of packages with a subscription needs, as the cluster's own builder mounts it. */
const sources = [
  { from: '/etc/pki/entitlement', to: '/etc/pki/entitlement', holds: /\.pem$/ },
  { from: '/etc/rhsm', to: '/run/secrets/rhsm', holds: /./ },
  { from: '/etc/yum.repos.d', to: '/etc/yum.repos.d', holds: /\.repo$/ },
  { from: '/etc/pki/rpm-gpg', to: '/etc/pki/rpm-gpg', holds: /./ },
] as const;

/** A folder of the host that a build sees a copy of. */
export interface BuildMount {
  readonly from: string;
  readonly copy: string;
  /** `COPY:TARGET:OPTIONS` */
  readonly volume: string;
}

/** The folders of the host to look into. */
export const entitlementFolders: readonly string[] = sources.map(({ from }) => from);

/**
 * What of the host a build gets. Without a certificate of a subscription it gets nothing: the base image brings what
 * it needs itself.
 */
export function entitlementMounts(
  names: ReadonlyMap<string, readonly string[]>,
  scratch: string,
): readonly BuildMount[] {
  const isThere = ({ from, holds }: (typeof sources)[number]): boolean =>
    (names.get(from) ?? []).some((name) => holds.test(name));
  if (!isThere(sources[0])) return [];
  return sources.filter(isThere).map(({ from, to }) => {
    const copy = `${scratch}${from}`;
    return { from, copy, volume: `${copy}:${to}:rw` };
  });
}
