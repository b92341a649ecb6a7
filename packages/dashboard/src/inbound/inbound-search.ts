/** What the address of the inbound page holds. */
export const inboundTabs = ['messages', 'domains'] as const
export type InboundTab = (typeof inboundTabs)[number]

export interface InboundSearch {
  /** The messages when left out. */
  readonly tab?: InboundTab
}

export function readInboundSearch({ tab }: Record<string, unknown>): InboundSearch {
  return tab === 'domains' ? { tab } : {}
}
