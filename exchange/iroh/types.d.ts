// Types of the parts of @number0/iroh that are used here. The package is optional, so the types of baobox must not
// import it. It takes and gives bytes as arrays of numbers.

export interface IrohEndpoint {
  id (): IrohId
  addr (): IrohAddress
  connect (address: IrohAddress, alpn: number[]): Promise<IrohConnection>
  /** null when the endpoint is closed. */
  acceptNext (): Promise<IrohIncoming | null>
  /** Waits until it has a relay. */
  online (): Promise<void>
  close (): Promise<void>
}

export interface IrohId {
  toString (): string
  toBytes (): number[]
}

export interface IrohAddress {
  id (): IrohId
  relayUrl (): string | null
  directAddresses (): string[]
}

export interface IrohIncoming {
  accept (): Promise<{ connect (): Promise<IrohConnection> }>
  refuse (): Promise<void>
}

export interface IrohConnection {
  alpn (): number[]
  remoteId (): IrohId
  openBi (): Promise<IrohStream>
  acceptBi (): Promise<IrohStream>
  /** null while it is open. */
  closeReason (): string | null
  close (code: bigint, reason: number[]): void
  setMaxConcurrentBiStreams (count: bigint): void
}

/** Calls on the same half run one after the other: `stop` waits for a `read` under way. */
export interface IrohStream {
  readonly send: {
    writeAll (bytes: number[]): Promise<void>
    finish (): Promise<void>
    reset (code: bigint): Promise<void>
    /** Waits until the other side has received everything, or wants no more. */
    stopped (): Promise<number | null>
  }
  readonly recv: {
    /** Gives an empty array at the end. */
    read (maxLen: number): Promise<number[]>
    readToEnd (maxLen: number): Promise<number[]>
    stop (code: bigint): Promise<void>
    /** The code with which the other side has reset the stream. */
    receivedReset (): Promise<number | null>
  }
}

export interface IrohBuilder {
  alpns (alpns: number[][]): void
  bindAddr (address: string): void
  secretKey (bytes: number[]): void
  relayMode (mode: unknown): void
  bind (): Promise<IrohEndpoint>
}

/** The package. */
export interface Iroh {
  Endpoint: { builder (): IrohBuilder }
  EndpointAddr: new (id: IrohId, relayUrl?: string, addresses?: string[]) => IrohAddress
  EndpointId: { fromBytes (bytes: number[]): IrohId }
  RelayMode: { disabled (): unknown }
  presetN0 (builder: IrohBuilder): void
  presetMinimal (builder: IrohBuilder): void
}
