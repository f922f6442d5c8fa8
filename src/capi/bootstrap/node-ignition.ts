import { refuseErrors } from '../../ignition/finding.ts';
import { mergeConfigs } from '../../ignition/merge.ts';
import { embeddedFile } from '../../ignition/resource.ts';
import { parseValidConfig, renderConfig } from '../../ignition/parse.ts';
import type { Config } from '../../ignition/types.ts';
import { validateConfig } from '../../ignition/validate.ts';
import type { BootstrapConfigSpec } from '../api.ts';

/** What is known of the node that a host becomes. */
export interface NodeInput extends Pick<BootstrapConfigSpec, 'nodeRegistration'> {
  /** `master.ign` or `worker.ign`: it points to the config server of the cluster. */
  readonly pointer: string;
  /** PEM by which the config server is trusted today; that of the pointer unless given. */
  readonly configServerCa?: string | undefined;
  /** Of the Machine, for a node without one of its own. */
  readonly providerID?: string | undefined;
}

/**
 * The Ignition that a host puts on its disk: the pointer to the config server, and what the kubelet of this node registers.
 * @throws AgentError `ignition.*` where the pointer cannot be read
 */
export function nodeIgnition({ pointer, configServerCa, ...input }: NodeInput): string {
  const { config } = parseValidConfig(pointer);
  const trusting = configServerCa === undefined ? config : withAuthority(config, configServerCa);
  const node = nodeConfig(input, config.ignition.version);
  if (node === undefined && trusting === config) return pointer;
  const merged = node === undefined ? trusting : mergeConfigs(trusting, node);
  refuseErrors(validateConfig(merged), 'ignition.merge-invalid');
  return renderConfig(merged);
}

/** The authority is replaced: an old one would be trusted beside the new. */
function withAuthority(config: Config, pem: string): Config {
  const source = `data:text/plain;charset=utf-8;base64,${Buffer.from(pem).toString('base64')}`;
  const { security } = config.ignition;
  const tls = { ...security?.tls, certificateAuthorities: [{ source }] };
  return { ...config, ignition: { ...config.ignition, security: { ...security, tls } } };
}

const script = '/etc/bootwright/register-node.sh';

function nodeConfig(
  {
    nodeRegistration: { name, labels = {}, providerID } = {},
    ...machine
  }: Omit<NodeInput, 'pointer'>,
  version: string,
): Config | undefined {
  const id = providerID ?? machine.providerID ?? '';
  const isKnownName = name !== undefined && !name.includes('$');
  const registered = {
    name: name === undefined || isKnownName ? '' : name,
    id,
    labels: Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
  };
  const files = isKnownName ? [embeddedFile('/etc/hostname', `${name}\n`, 0o644)] : [];
  if (Object.values(registered).every((value) => value === ''))
    return files.length === 0 ? undefined : { ignition: { version }, storage: { files } };
  return {
    ignition: { version },
    storage: { files: [...files, embeddedFile(script, registerScript(registered), 0o700)] },
    systemd: {
      units: [{ name: 'bootwright-register-node.service', enabled: true, contents: unit }],
    },
  };
}

const unit = `[Unit]
Description=Give the kubelet what it registers
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/bash ${script}

[Install]
WantedBy=multi-user.target
RequiredBy=kubelet.service
`;

/** A word of a shell that nothing is read in. */
const shellWord = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * At each boot, as an update of the cluster changes the command of the kubelet: that command with flags behind it.
 * `$METADATA_UUID` and `$METADATA_NAME` are what the config drive says (OpenStack metadata, `meta_data.json`). Labels given by
 * several flags are all registered (kubernetes, `component-base/cli/flag`, MapStringString).
 */
const registerScript = ({
  name,
  id,
  labels,
}: Readonly<Record<'name' | 'id' | 'labels', string>>): string => `#!/bin/bash
set -eu
name=${shellWord(name)}
id=${shellWord(id)}
labels=${shellWord(labels)}
METADATA_UUID= METADATA_NAME=
if [[ $name$id$labels == *'$METADATA_'* ]]; then
  drive=$(mktemp --directory)
  mount --options ro /dev/disk/by-label/config-2 "$drive"
  trap 'umount "$drive"' EXIT
  METADATA_UUID=$(jq --raw-output '.uuid // ""' "$drive/openstack/latest/meta_data.json")
  METADATA_NAME=$(jq --raw-output '.name // .hostname // ""' "$drive/openstack/latest/meta_data.json")
fi
resolved() {
  local text=$1
  text=\${text//'$METADATA_UUID'/$METADATA_UUID}
  printf '%s' "\${text//'$METADATA_NAME'/$METADATA_NAME}"
}
[ -z "$name" ] || hostnamectl set-hostname "$(resolved "$name")"
flags=
[ -z "$id" ] || flags="$flags --provider-id=$(resolved "$id")"
[ -z "$labels" ] || flags="$flags --node-labels=$(resolved "$labels")"
[ -n "$flags" ] || exit 0
command=$(awk '/^ *ExecStart=/ { on = 1 } on { print; if ($0 !~ /\\\\$/) exit }' /etc/systemd/system/kubelet.service)
mkdir --parents /etc/systemd/system/kubelet.service.d
printf '[Service]\\nExecStart=\\n%s \\\\\\n %s\\n' "$command" "\${flags//%/%%}" \\
  > /etc/systemd/system/kubelet.service.d/90-bootwright-node.conf
systemctl daemon-reload
`;
