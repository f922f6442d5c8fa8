/** Where the installed system finds the file of the Machine Config Server. */
const proofPath = '/etc/lab-proof';
const proofText = 'from-the-machine-config-server';

/** On the second serial port, once Ignition is through: what it brought. */
export const proofLine = `IGNITION-APPLIED ${proofText}`;

const unit = `[Unit]
Description=Say on the second serial port what Ignition brought
Before=labcoreos-report.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo IGNITION-APPLIED $$(cat ${proofPath}) > /dev/ttyS1'
[Install]
WantedBy=multi-user.target
`;

const dataUrl = (text: string): string => `data:,${encodeURIComponent(text)}`;

/** What the Machine Config Server has for a role: a file and a unit. */
export const machineConfig = {
  ignition: { version: '3.2.0' },
  storage: {
    files: [{ path: proofPath, mode: 0o644, contents: { source: dataUrl(`${proofText}\n`) } }],
  },
  systemd: { units: [{ name: 'lab-proof.service', enabled: true, contents: unit }] },
};

/** What the inventory service has for one host: its name, and where the rest is. */
export const pointerConfig = ({
  hostname,
  source,
}: {
  readonly hostname: string;
  readonly source: string;
}): object => ({
  ignition: { version: '3.2.0', config: { merge: [{ source }] } },
  storage: {
    files: [
      {
        path: '/etc/hostname',
        mode: 0o644,
        overwrite: true,
        contents: { source: dataUrl(`${hostname}\n`) },
      },
    ],
  },
});
