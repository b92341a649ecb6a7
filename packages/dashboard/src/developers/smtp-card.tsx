/** How a program that speaks SMTP hands in its mail, to be copied. */
import { useSession } from '../session/session.ts'
import { Tabs } from '../ui/controls.ts'
import { CodeBlock, Copyable } from '../ui/copy.tsx'
import { Card, Fields, Stack } from '../ui/page.tsx'
import { StateMark, stateIcons } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { smtpLogin, smtpSnippets } from './smtp-snippets.ts'
import { words } from './words.ts'

const programs = ['swaks', 'nodemailer', 'django', 'postfix'] as const

export function SmtpCard({ from }: { readonly from: string }) {
  const text = useWords(words)
  const { submission } = useSession()
  if (submission === null) {
    return (
      <Card title={text.smtp}>
        <Stack>
          <div>
            <StateMark tone="muted" icon={stateIcons.pause}>
              {text.smtpOff}
            </StateMark>
          </div>
          <p>{text.smtpOffHelp}</p>
        </Stack>
      </Card>
    )
  }
  const { host, starttls_port, tls_port } = submission
  const snippets = smtpSnippets(submission, from)
  return (
    <Card title={text.smtp} note={text.smtpNote}>
      <Stack>
        <Fields
          entries={[
            [text.smtpHost, <Copyable value={host} />],
            starttls_port === null
              ? undefined
              : [text.smtpStarttls, <Copyable value={String(starttls_port)} />],
            tls_port === null ? undefined : [text.smtpTls, <Copyable value={String(tls_port)} />],
            [
              text.smtpUser,
              <>
                <Copyable value={smtpLogin} /> {text.smtpUserHelp}
              </>,
            ],
            [text.smtpPassword, text.smtpPasswordHelp],
          ]}
        />
        <Tabs defaultValue="swaks">
          <Tabs.List>
            {programs.map((program) => (
              <Tabs.Tab key={program} value={program}>
                {text.programs[program]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {programs.map((program) => (
            <Tabs.Panel key={program} value={program} pt={8}>
              <CodeBlock code={snippets[program]} label={text.programs[program]} />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Stack>
    </Card>
  )
}
