/** A MachineOSConfig that the cluster would take, with its defaults. */
export interface MachineOSConfig {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: MachineOSConfigSpec;
}

/** The spec as it stands in the object. */
export interface MachineOSConfigSpec {
  readonly machineConfigPool: Named;
  readonly imageBuilder: { readonly imageBuilderType: string };
  readonly baseImagePullSecret?: Named;
  readonly renderedImagePushSecret: Named;
  readonly renderedImagePushSpec: string;
  readonly containerFile?: readonly Containerfile[];
}

/** What the user adds, for one architecture or for all. */
export interface Containerfile {
  readonly containerfileArch: string;
  readonly content: string;
}

interface Named {
  readonly name: string;
}

/** The text that the operator's builder reads: that for no architecture; the others it leaves alone. */
export const userContainerfile = ({ spec }: MachineOSConfig): string =>
  spec.containerFile?.find(({ containerfileArch }) => containerfileArch === 'NoArch')?.content ??
  '';
