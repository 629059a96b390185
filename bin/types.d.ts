// Types that the commands share.

/** An option of a command. Its name is the key under which the command lists it. */
export interface Option<T> {
  /** One letter. */
  short?: string
  /** The name of its value in the help; a flag has none. */
  value?: string
  help: string
  /** @throws UsageError when the text is not valid */
  read (text: string): T
}

export type Options = Record<string, Option<any>>

/** The value of each option; undefined for those that were not given. */
export type Values<O extends Options> = { [Name in keyof O]?: ReturnType<O[Name]['read']> }

export interface Command<O extends Options = any> {
  /** One line. */
  summary: string
  /** What may follow the command's name: a line for each form of the command. */
  usage: string[]
  /** The name of the operands in messages, and how many there may be. */
  operands: { what: string, min: number, max: number }
  options: O
  /** Paragraphs that the help shows below the options. */
  notes?: string[]
  examples: string[]
  run (given: { values: Values<O>, operands: string[] }, context: Context): Promise<void>
}

export interface Context {
  /** Aborted by the first Ctrl-C. */
  signal: AbortSignal
  /**
   * Does one of several things. When it fails, the error is printed and the program will exit with 1, but the call
   * resolves, so that the next thing is done.
   */
  attempt (work: () => Promise<unknown>): Promise<void>
}
