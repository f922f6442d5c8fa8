/**
 * Files and units that the Machine Config Operator renders for hosts of its own, by the releases of
 * OpenShift that have them. From `templates/` of its branches release-4.6 to release-4.23 and main,
 * 2026-08, without those of clouds.
 */
const templates: Readonly<Record<string, string>> = {
  '4.6 to 4.21': '/etc/sysctl.d/forward.conf',
  '4.7 to 4.18': `
    /etc/NetworkManager/dispatcher.d/30-static-dhcp /etc/NetworkManager/dispatcher.d/30-static-dhcpv6`,
  '4.16 to 4.22': '/usr/local/bin/wait-for-primary-ip.sh wait-for-primary-ip.service',
  '4.6 and newer': `
    /etc/NetworkManager/conf.d/sdn.conf /etc/NetworkManager/dispatcher.d/30-resolv-prepender
    /etc/containers/policy.json /etc/containers/registries.conf /etc/containers/storage.conf
    /etc/crio/crio.conf.d/00-default /etc/keepalived/monitor.conf /etc/kubernetes/cloud.conf
    /etc/kubernetes/kubelet.conf /etc/kubernetes/manifests/coredns.yaml /etc/kubernetes/manifests/haproxy.yaml
    /etc/kubernetes/manifests/keepalived.yaml /etc/kubernetes/static-pod-resources/coredns/Corefile.tmpl
    /etc/kubernetes/static-pod-resources/haproxy/haproxy.cfg.tmpl
    /etc/kubernetes/static-pod-resources/keepalived/keepalived.conf.tmpl
    /etc/kubernetes/static-pod-resources/keepalived/scripts/chk_ocp_script.sh.tmpl
    /etc/kubernetes/static-pod-resources/keepalived/scripts/chk_ocp_script_both.sh.tmpl
    /etc/modules-load.d/iptables.conf /etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt
    /etc/sysctl.d/inotify.conf /etc/systemd/system.conf.d/10-default-env-godebug.conf
    /etc/systemd/system.conf.d/kubelet-cgroups.conf /etc/tmpfiles.d/cleanup-cni.conf /usr/local/bin/configure-ovs.sh
    /usr/local/bin/recover-kubeconfig.sh /var/lib/kubelet/config.json kubelet.service
    machine-config-daemon-firstboot.service machine-config-daemon-pull.service node-valid-hostname.service
    nodeip-configuration.service ovs-configuration.service`,
  '4.7 and newer': `
    /etc/audit/rules.d/mco-audit-quiet-containers.rules /etc/kubernetes/disabled-manifests/coredns.yaml
    /etc/kubernetes/disabled-manifests/haproxy.yaml /etc/kubernetes/disabled-manifests/keepalived.yaml
    /etc/kubernetes/static-pod-resources/keepalived/scripts/chk_default_ingress.sh.tmpl /etc/mco/proxy.env
    /etc/systemd/system/kubelet.service.d/20-logging.conf`,
  '4.8 and newer': `
    /etc/node-sizing-enabled.env /usr/local/sbin/dynamic-system-reserved-calc.sh kubelet-auto-node-size.service`,
  '4.9 and newer': '/usr/local/bin/mco-hostname',
  '4.10 and newer': `
    /etc/NetworkManager/conf.d/20-keyfiles.conf /usr/local/bin/mtu-migration.sh mtu-migration.service`,
  '4.11 and newer': '/etc/NetworkManager/dispatcher.d/pre-up.d/10-ofport-request.sh',
  '4.12 and newer': `
    /usr/local/bin/kubenswrapper /usr/local/bin/nm-clean-initrd-state.sh /usr/local/bin/resolv-prepender.sh
    /var/lib/mco/nm-clean-initrd-state NetworkManager-clean-initrd-state.service firstboot-osupdate.target
    kubelet-dependencies.target kubens.service on-prem-resolv-prepender.service`,
  '4.13 and newer': `
    /etc/NetworkManager/conf.d/01-ipv6.conf /etc/NetworkManager/dispatcher.d/forcedns-rhel9-fix /etc/dnsmasq.conf
    /etc/sysctl.d/arp.conf /etc/sysctl.d/enable-userfaultfd.conf /etc/sysctl.d/vm-max-map.conf`,
  '4.14 and newer': `
    /etc/kubernetes/crio-metrics-proxy.cfg /etc/kubernetes/manifests/criometricsproxy.yaml
    /usr/local/bin/configure-ip-forwarding.sh /usr/local/bin/wait-for-br-ex-up.sh kubelet-cleanup.service
    on-prem-resolv-prepender.path wait-for-br-ex-up.service`,
  '4.15 and newer': `
    /etc/NetworkManager/dispatcher.d/99-esp-offload /etc/nmstate/nmstate.conf /etc/sysctl.d/gc-thresh.conf
    /usr/local/bin/ipsec-connect-wait.sh wait-for-ipsec-connect.service`,
  '4.16 and newer': `
    /etc/kubernetes/static-pod-resources/keepalived/scripts/chk_mcs_script.sh.tmpl
    /usr/local/bin/nmstate-configuration.sh nmstate-configuration.service nmstate.service`,
  '4.17 and newer': `
    /etc/machine-config-daemon/generate_podman_policy_args.sh /etc/machine-config-daemon/policy-for-old-podman.json`,
  '4.18 and newer': '/etc/systemd/system.conf.d/10-default-timeout-stop.conf',
  '4.19 and newer': 'ha-00-directories.service ha-01-enable-services.service',
  '4.21 and newer': '/usr/local/bin/fencing_validator',
  '4.22 and newer': `
    /etc/sudoers.d/hacluster-taint /usr/local/bin/taint-fenced-node.sh /usr/local/bin/untaint-fenced-node.sh
    /var/lib/pacemaker/alerts/tnf-taint-alert.sh /var/lib/pacemaker/alerts/tnf-untaint-alert.sh taint-node@.service
    untaint-node@.service`,
  '4.23 and newer': '/usr/local/bin/wait-for-node-ip.sh wait-for-node-ip.service',
};

/** Its drop-ins, as `UNIT.d/NAME`. */
const dropins: Readonly<Record<string, string>> = {
  '4.6 and newer': `
    crio.service.d/10-mco-default-env.conf crio.service.d/10-mco-default-madv.conf
    docker.socket.d/mco-disabled.conf kubelet.service.d/10-mco-default-env.conf
    kubelet.service.d/10-mco-default-madv.conf ovs-vswitchd.service.d/10-ovs-vswitchd-restart.conf
    ovsdb-server.service.d/10-ovsdb-restart.conf rpm-ostreed.service.d/mco-controlplane-nice.conf
    zincati.service.d/mco-disabled.conf`,
  '4.6 to 4.17': 'pivot.service.d/10-mco-default-env.conf',
  '4.7 and newer': 'crio.service.d/10-mco-profile-unix-socket.conf',
  '4.11 and newer': 'kubelet.service.d/10-mco-on-prem-wait-resolv.conf',
  '4.12 and newer': `
    crio.service.d/01-kubens.conf crio.service.d/05-mco-ordering.conf
    kubelet.service.d/01-kubens.conf rpm-ostreed.service.d/10-mco-default-env.conf`,
  '4.15 and newer': 'ipsec.service.d/01-after-configure-ovs.conf',
  '4.20 and newer': 'chrony-wait.service.d/10-skip-on-first-join.conf',
  '4.22 and newer': `
    corosync.service.d/10-after-ovs-configuration.conf
    ovs-configuration.service.d/10-skip-rerun.conf`,
  '4.23 and newer': 'openvswitch-ipsec.service.d/01-after-pluto-start.conf',
};

/** What else says the same, where a drop-in does not. */
const instead: Readonly<Record<string, string>> = {
  '/etc/containers/policy.json': 'use a ClusterImagePolicy, or the Image cluster',
  '/etc/containers/registries.conf':
    'use an ImageDigestMirrorSet, an ImageTagMirrorSet, or the Image cluster',
  '/etc/containers/storage.conf': 'use a ContainerRuntimeConfig',
  '/etc/crio/crio.conf.d/00-default':
    'use a ContainerRuntimeConfig, or a file of another name in the same folder',
  '/etc/kubernetes/kubelet.conf': 'use a KubeletConfig',
  '/etc/mco/proxy.env': 'set the Proxy cluster',
  '/etc/node-sizing-enabled.env': 'use a KubeletConfig with autoSizingReserved',
  '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt':
    'set trustedCA of the Proxy cluster',
  '/var/lib/kubelet/config.json': 'change the Secret pull-secret in openshift-config',
};

/** A file, a unit or a drop-in of the operator's own. */
export interface OperatorFile {
  /** The releases of OpenShift that have it, for people. */
  readonly releases: string;
  /** What to do in place of overriding it. */
  readonly advice: string;
}

const files: ReadonlyMap<string, OperatorFile> = new Map(
  [...Object.entries(templates), ...Object.entries(dropins)].flatMap(([releases, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => {
        const other = name.includes('/') ? 'write a file of another name' : 'write a drop-in';
        return [name, { releases, advice: instead[name] ?? other }] as const;
      }),
  ),
);

/** The operator's own file of a path, its unit of a name, or its drop-in `UNIT.d/NAME`. */
export const operatorFile = (name: string): OperatorFile | undefined => files.get(name);
