import { layeringFailure } from '../failures.ts';
import type { MachineConfig } from '../machine-config.ts';
import { kernelPackages, packagesOfExtensions } from '../packages.ts';
import { caBundleFile, machineConfigFile } from './context-paths.ts';

/** What a layered image is made from. */
export interface ContainerfileInputs {
  readonly machineConfig: MachineConfig;
  /** The image of the operating system; that of the MachineConfig unless the release keeps it elsewhere (≤ 4.21). */
  readonly baseImage: string;
  /** Image with the packages of extensions; empty when there is none. */
  readonly extensionsImage: string;
  /** What the user adds; it begins with a stage built on `configs`. Empty when there is nothing to add. */
  readonly userContent: string;
}

const CURRENT_CONFIG = '/etc/machine-config-daemon/currentconfig';
const IGNITION = '/usr/lib/dracut/modules.d/30ignition/ignition';
const EXTENSIONS = '/tmp/mco-extensions/os-extensions-content';
const REPO = '/etc/yum.repos.d/coreos-extensions.repo';
const ANCHOR = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';

/**
 * The Containerfile of a layered image. Its stages and what each does to the image are those of the Machine Config
 * Operator's own builder (release 4.22 and newer): the MachineConfig is applied by the Ignition of the image in
 * stage `configs`, and what the user adds follows word for word.
 * @throws AgentError `layering.no-extensions-image`
 */
export function renderContainerfile(inputs: ContainerfileInputs): string {
  const { baseImage, userContent } = inputs;
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
    ...packageLines(inputs),
    '# Folders of /var that packages expect are made at boot.',
    'RUN rm -f /usr/lib/tmpfiles.d/usbguard.conf && \\',
    `    printf '%s\\n' 'd /var/log/usbguard 0755 root root -' 'd /var/lib/ipsec 0700 root root -' 'd /var/lib/ipsec/nss 0700 root root -' > /usr/lib/tmpfiles.d/layered-packages.conf`,
    // Nobody but their owner can read the files of the context; these certificates are for every program.
    `COPY --chmod=0644 ./${caBundleFile} ${ANCHOR}`,
    'RUN update-ca-trust && ostree container commit',
    ...labelLines(inputs),
  ];
  const own = `${parts.join('\n')}\n`;
  return userContent === ''
    ? own
    : `${own}\n${userContent}${userContent.endsWith('\n') ? '' : '\n'}`;
}

/** Labels of an image, by which a person can tell what it was made from. */
export const imageLabels = ({
  machineConfig,
  baseImage,
}: ContainerfileInputs): Readonly<Record<string, string>> => ({
  machineconfig: machineConfig.name,
  machineconfigpool: machineConfig.pool,
  baseOSContainerImage: baseImage,
});

const labelLines = (inputs: ContainerfileInputs): readonly string[] =>
  Object.entries(imageLabels(inputs)).map(([key, value]) => `LABEL ${key}=${value}`);

/** Packages of extensions and of another kernel, from the image that holds them. */
function packageLines({ machineConfig, extensionsImage }: ContainerfileInputs): readonly string[] {
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

/** One transaction, so that there is a kernel at every moment; nothing where the image has it already. */
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
