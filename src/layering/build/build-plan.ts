import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { kernelPackages, type MachineConfig, packagesOfExtensions } from '../api/machine-config.ts';
import { type MachineOSConfig, userContainerfile } from '../api/os-config.ts';
import { layeringFailure } from '../failures.ts';

/**
 * The files of the build context of a pool's image, by their paths in it.
 * @param caBundle PEM certificates; may be empty
 * @throws AgentError `layering.pools-differ`, `layering.no-extensions-image`
 */
export function buildContext(
  config: MachineOSConfig,
  machineConfig: MachineConfig,
  caBundle = '',
): ReadonlyMap<string, string> {
  const pool = config.spec.machineConfigPool.name;
  if (machineConfig.pool !== pool) {
    throw layeringFailure(
      'layering.pools-differ',
      `the MachineOSConfig is for pool ${pool}, ${machineConfig.name} is of pool ${machineConfig.pool}`,
    );
  }
  return new Map([
    [containerfileFile, renderContainerfile(machineConfig, userContainerfile(config))],
    [machineConfigFile, packedMachineConfig(machineConfig)],
    [caBundleFile, caBundle],
  ]);
}

/** The same bytes for the same object: the gzip header has no time. */
function packedMachineConfig({ object }: MachineConfig): string {
  return Buffer.from(gzipSync(JSON.stringify(object), { level: 9 })).toString('base64');
}

/** The MachineConfig within a build context: JSON, gzip, base64, as for the operator's builder. */
const machineConfigFile = 'machineconfig/machineconfig.json.gz';

/** Certificates that the machines trust beside the system's; may be empty. */
const caBundleFile = 'openshift-config-user-ca-bundle.crt';

/** The Containerfile within a build context. */
export const containerfileFile = 'Containerfile';

const CURRENT_CONFIG = '/etc/machine-config-daemon/currentconfig';
const IGNITION = '/usr/lib/dracut/modules.d/30ignition/ignition';
const EXTENSIONS = '/tmp/mco-extensions/os-extensions-content';
const REPO = '/etc/yum.repos.d/coreos-extensions.repo';
const ANCHOR = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';

/**
 * The Containerfile of a layered image. Its stages and their effects are those of the Machine
 * Config Operator's own builder (release 4.22 and newer): in stage `configs` the Ignition of the
 * image applies the MachineConfig, and the user's content follows word for word.
 * @param userContent begins with a stage built on `configs`; may be empty
 * @throws AgentError `layering.no-extensions-image`
 */
function renderContainerfile(machineConfig: MachineConfig, userContent: string): string {
  const { osImageURL: baseImage, name, pool } = machineConfig;
  const parts = [
    '# The MachineConfig is unpacked in a stage of its own, so that its packed form is not kept.',
    `FROM ${baseImage} AS extract`,
    `COPY ./${machineConfigFile} /tmp/machineconfig.json.gz`,
    `RUN mkdir -p /etc/machine-config-daemon && base64 -d /tmp/machineconfig.json.gz | gunzip > ${CURRENT_CONFIG}`,
    '',
    `FROM ${baseImage} AS configs`,
    `COPY --from=extract ${CURRENT_CONFIG} ${CURRENT_CONFIG}`,
    '# Ignition applies a config at once when it is called by this name, and only inside a container.',
    `RUN jq .spec.config ${CURRENT_CONFIG} > /tmp/config.ign && \\`,
    `    bash -c 'container=oci exec -a ignition-apply ${IGNITION} --ignore-unsupported /tmp/config.ign' && \\`,
    '    rm /tmp/config.ign && \\',
    '    ostree container commit',
    ...packageLines(machineConfig),
    '# Folders of /var that packages expect are made at boot.',
    'RUN rm -f /usr/lib/tmpfiles.d/usbguard.conf && \\',
    `    printf '%s\\n' 'd /var/log/usbguard 0755 root root -' 'd /var/lib/ipsec 0700 root root -' 'd /var/lib/ipsec/nss 0700 root root -' > /usr/lib/tmpfiles.d/layered-packages.conf`,
    // The files of the context are readable by their owner only; every program needs these
    // certificates.
    `COPY --chmod=0644 ./${caBundleFile} ${ANCHOR}`,
    'RUN update-ca-trust && ostree container commit',
    `LABEL machineconfig=${name}`,
    `LABEL machineconfigpool=${pool}`,
    `LABEL baseOSContainerImage=${baseImage}`,
  ];
  const own = `${parts.join('\n')}\n`;
  return userContent === ''
    ? own
    : `${own}\n${userContent}${userContent.endsWith('\n') ? '' : '\n'}`;
}

/** Instructions that install extensions and another kernel from the extensions image. */
function packageLines(machineConfig: MachineConfig): readonly string[] {
  const { extensionsImage } = machineConfig;
  const packages = packagesOfExtensions(machineConfig.extensions);
  const isOtherKernel = machineConfig.kernelType !== 'default';
  if (packages.length === 0 && !isOtherKernel) return [];
  if (extensionsImage === '') {
    const wanted = [...machineConfig.extensions, ...(isOtherKernel ? ['another kernel'] : [])];
    throw layeringFailure(
      'layering.no-extensions-image',
      `${machineConfig.name} asks for ${wanted.join(', ')} and names no image of extensions`,
    );
  }
  const repo = [
    '[coreos-extensions]',
    'enabled=1',
    'metadata_expire=1m',
    `baseurl=${EXTENSIONS}/usr/share/rpm-ostree/extensions/`,
    'gpgcheck=0',
    'skip_if_unavailable=False',
  ];
  return [
    '# Packages come from the image of extensions, which is mounted as a repository for this step.',
    `RUN --mount=type=bind,from=${extensionsImage},source=/,target=${EXTENSIONS},bind-propagation=rshared,z \\`,
    `    printf '%s\\n' ${repo.map((line) => `'${line}'`).join(' ')} > ${REPO} && \\`,
    ...(packages.length === 0 ? [] : [`    rpm-ostree install ${packages.join(' ')} && \\`]),
    ...(isOtherKernel ? kernelLines(machineConfig) : []),
    `    rm ${REPO} && \\`,
    '    ostree container commit',
  ];
}

/**
 * One transaction, so that a kernel is installed at every moment; empty where the image has the
 * kernel already.
 */
function kernelLines({ kernelType }: MachineConfig): readonly string[] {
  const wanted = kernelPackages[kernelType];
  const [core = ''] = wanted;
  const others = Object.values(kernelPackages)
    .flat()
    .filter((name) => !wanted.includes(name));
  return [
    `    if ! rpm --quiet -q ${core}; then \\`,
    `      old="$(rpm -qa --queryformat '%{NAME} ' ${others.join(' ')})" && \\`,
    `      printf '%s\\n' "remove $old" 'install ${wanted.join(' ')}' run | dnf shell --assumeyes; \\`,
    '    fi && \\',
  ];
}

/**
 * Host folders that builds need to install packages with a subscription, mounted as by the
 * cluster's own builder. Without the first of them, a certificate, none is needed: the base image
 * contains what it needs.
 */
export const entitlements = [
  { from: '/etc/pki/entitlement', to: '/etc/pki/entitlement', holds: /\.pem$/ },
  { from: '/etc/rhsm', to: '/run/secrets/rhsm', holds: /./ },
  { from: '/etc/yum.repos.d', to: '/etc/yum.repos.d', holds: /\.repo$/ },
  { from: '/etc/pki/rpm-gpg', to: '/etc/pki/rpm-gpg', holds: /./ },
] as const;

/**
 * Registry settings for one build: the existing ones, and the base image from the staging registry.
 * An entry for a single digest may stand beside any entry for the repository, because the longest
 * prefix wins (containers-registries.conf(5)). The base keeps its name.
 */
export function registriesWithBase(settings: string, base: string, staged: string): string {
  const kept = isVersionOne(settings) || settings === '' ? '' : `${settings.trimEnd()}\n\n`;
  return [
    `${kept}[[registry]]`,
    `prefix = ${quoted(base)}`,
    `location = ${quoted(base)}`,
    '[[registry.mirror]]',
    `location = ${quoted(staged)}`,
    '',
  ].join('\n');
}

/** Version 1 of the format cannot be mixed with version 2. */
const isVersionOne = (settings: string): boolean => /^[ \t]*\[registries\./m.test(settings);

/** A basic string of TOML; a pull spec contains no other characters that need an escape. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '')}"`;
