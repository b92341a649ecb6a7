/** Of a message, what its reports are read from. */
import type { MessageHeader } from '../parse/parsed-message.ts'

export interface ReportSource {
  readonly headers: readonly MessageHeader[]
  /** In lower case; '' where it is no multipart/report. */
  readonly reportType: string
  /** What a person would read. */
  readonly text: string
  readonly html: string
  readonly parts: readonly {
    readonly type: string
    readonly content: Uint8Array
  }[]
}
