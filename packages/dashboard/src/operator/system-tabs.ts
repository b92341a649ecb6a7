/** The parts of the system's page, as its address names them. */
export const systemTabs = ['processes', 'storage', 'configuration'] as const
export type SystemTab = (typeof systemTabs)[number]

export interface SystemSearch {
  readonly tab?: SystemTab
  /** A part of a variable's name or value. */
  readonly find?: string
}

export function readSystemSearch({ tab, find }: Record<string, unknown>): SystemSearch {
  const known = systemTabs.find((one) => one === tab)
  return {
    ...(known !== undefined && { tab: known }),
    ...((typeof find === 'string' || typeof find === 'number') &&
      find !== '' && { find: String(find) }),
  }
}
