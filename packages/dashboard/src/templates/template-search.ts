/** What the address of a template holds: which version is shown. */
export interface TemplateSearch {
  /** The newest when left out. */
  readonly version?: number
}

export function readTemplateSearch({ version }: Readonly<Record<string, unknown>>): TemplateSearch {
  const given = Number(version)
  return Number.isSafeInteger(given) && given > 0 ? { version: given } : {}
}
