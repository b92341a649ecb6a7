/** What lists of mail share: whom a mail went to, its subject, when it was accepted, and where its row leads. */
import type { EmailLog } from '@postrider/client'
import type { LinkProps } from '@tanstack/react-router'
import type { Column } from '../ui/data-table.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function useLogColumns() {
  const text = useWords(words)
  return {
    recipient: {
      key: 'recipient',
      head: text.recipient,
      width: 'minmax(0, 1.35fr)',
      isTitle: true,
      cell: ({ email }) => email,
    },
    subject: {
      key: 'subject',
      head: text.subject,
      width: 'minmax(0, 1.5fr)',
      cell: ({ subject }) => subject || text.noSubject,
    },
    accepted: {
      key: 'accepted',
      head: text.accepted,
      width: '132px',
      align: 'end',
      cell: ({ created_at }) => <Time at={created_at} />,
    },
  } satisfies Record<string, Column<EmailLog>>
}

/** The row of a recipient leads to the email, with this recipient chosen. */
export const logLinks = (tenantId: string) => ({
  link: ({ ref_id, email }: EmailLog): LinkProps => ({
    to: '/t/$tenantId/emails/$refId',
    params: { tenantId, refId: ref_id },
    search: { recipient: email },
  }),
  linkLabel: ({ email, subject }: EmailLog) => `${email}, ${subject}`,
})
