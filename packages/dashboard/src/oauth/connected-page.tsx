/** Where the browser comes back to from the provider: what became of the login, tested step by step. */
import type { DomainMailer, Mailer } from '@postrider/client'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { isReading, isReadOnly } from '../mailers/mailer-kind.ts'
import { MailerStateMark } from '../mailers/mailer-state.tsx'
import { TestSteps } from '../mailers/mailer-test.tsx'
import { readMailer } from '../mailers/read-mailer.ts'
import { words as mailerWords } from '../mailers/words.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useSession } from '../session/session.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Failure } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Button } from '../ui/controls.ts'
import { Card, Fields, Page, Row } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { lastStarted, type StartedLogin } from './started-login.ts'
import { useLogIn } from './use-log-in.ts'
import { type LoginError, words } from './words.ts'

export function ConnectedPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const { mailers } = useWords(mailerWords)
  const { mailer_id: mailerId, error } = useSearch({ from: '/shell/t/$tenantId/mailers/connected' })
  const started = useStarted()
  const mailer = useQuery({
    queryKey: [tenantId, 'mailer', mailerId],
    queryFn: ({ signal }) => readMailer(client, mailerId ?? '', { signal }),
    enabled: mailerId !== undefined,
  })
  // Anybody may have written the address: what it says is believed of the login that this tab has begun.
  const isConnected = mailer.data !== undefined && isOf(started, mailer.data)
  return (
    <Page
      title={
        mailerId === undefined
          ? text.notConnected
          : isConnected
            ? text.connected
            : (mailer.data?.email ?? text.mailbox)
      }
      trail={
        <Link to="/t/$tenantId/mailers" params={{ tenantId }}>
          {mailers}
        </Link>
      }
      actions={
        mailer.data !== undefined && (
          <Button component={Link} to={`/t/${tenantId}/mailers/${mailer.data.mailer_id}`}>
            {text.openMailer}
          </Button>
        )
      }
    >
      {mailerId === undefined ? (
        <Failed error={error} />
      ) : (
        <Returned mailer={mailer} isConnected={isConnected} />
      )}
    </Page>
  )
}

function useStarted(): StartedLogin | undefined {
  const { tenantId } = useTenant()
  const { user } = useSession()
  return lastStarted({ tenantId, userId: user.user_id })
}

/** Whether the login can have made or renewed the mailer, which the service says is connected. */
function isOf(started: StartedLogin | undefined, mailer: Mailer | DomainMailer): boolean {
  if (started === undefined || mailer.config_type === 'domain') return false
  const { app_id: appId, mailer_id: mailerId = mailer.mailer_id } = started
  return (
    mailer.config.app_id === appId && mailer.mailer_id === mailerId && mailer.state === 'active'
  )
}

function Returned({
  mailer,
  isConnected,
}: {
  readonly mailer: UseQueryResult<Mailer | DomainMailer>
  readonly isConnected: boolean
}) {
  const text = useWords(words)
  const mailerText = useWords(mailerWords)
  const { tenantId, client, may } = useTenant()
  const mailerId = mailer.data?.mailer_id ?? ''
  // Once for a login: it logs in at the server, and tests are counted.
  const test = useQuery({
    queryKey: [tenantId, 'connected', mailerId],
    queryFn: async ({ signal }) =>
      (await client.testMailer({ mailer_id: mailerId }, { signal })).steps,
    enabled: may('testMailer') && isConnected,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  return (
    <Answer query={mailer}>
      {(found) => (
        <>
          <Card title={text.mailbox}>
            <Fields
              entries={[
                [mailerText.address, found.email],
                [mailerText.kind, mailerText.kinds[found.config_type]],
                [mailerText.state, <MailerStateMark state={found.state} />],
                isReading(found) && found.webhook === null
                  ? [text.webhook, text.noWebhook]
                  : undefined,
              ]}
            />
          </Card>
          <Card
            title={mailerText.testTitle}
            note={isReadOnly(found) ? mailerText.reading.testLead : text.testNote}
            actions={
              <ActionButton
                size="xs"
                variant="default"
                operation="testMailer"
                loading={test.isFetching}
                onClick={() => void test.refetch()}
              >
                {mailerText.runTest}
              </ActionButton>
            }
          >
            {test.data !== undefined && <TestSteps steps={test.data} />}
            {test.data === undefined && test.isFetching && <p role="status">{text.testing}</p>}
            {test.error && !test.isFetching ? <Failure what="check" error={test.error} /> : null}
          </Card>
        </>
      )}
    </Answer>
  )
}

function Failed({ error }: { readonly error: string | undefined }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const logIn = useLogIn()
  const started = useStarted()
  const known = Object.keys(text.errors).find((one) => one === error) as LoginError | undefined
  const again = (more: { allow_duplicate?: true }) =>
    started !== undefined && logIn.mutate({ ...started, ...more })
  return (
    <>
      <Banner
        tone="bad"
        word={text.failed}
        title={known === undefined ? text.refused : text.errors[known].title}
        action={
          started !== undefined && (
            <ActionButton
              size="xs"
              operation="oauthLogin"
              loading={logIn.isPending}
              onClick={() => again({})}
            >
              {text.tryAgain}
            </ActionButton>
          )
        }
      >
        {error !== undefined && <code>{error}</code>}
        <div>{known === undefined ? text.refusedHelp : text.errors[known].help}</div>
      </Banner>
      {logIn.error && !logIn.isPending ? <Failure what="logIn" error={logIn.error} /> : null}
      <Row>
        {error === 'mailer_exists' && started !== undefined && (
          <ActionButton
            variant="default"
            operation="oauthLogin"
            onClick={() => again({ allow_duplicate: true })}
          >
            {text.connectSecond}
          </ActionButton>
        )}
        <Link to="/t/$tenantId/mailers/oauth-apps" params={{ tenantId }}>
          {text.apps}
        </Link>
        {started?.mailer_id !== undefined && (
          <Link
            to="/t/$tenantId/mailers/$mailerId"
            params={{ tenantId, mailerId: started.mailer_id }}
          >
            {text.openMailer}
          </Link>
        )}
      </Row>
    </>
  )
}
