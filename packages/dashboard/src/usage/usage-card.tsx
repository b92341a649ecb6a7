/** The tenant's own usage: in its settings, and as banners over its overview. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Card, Stack } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { nearnessTones, nearQuotas } from './usage.ts'
import { UsageFields } from './usage-fields.tsx'
import { words } from './words.ts'

const refreshMs = 30_000

function useUsage() {
  const { tenantId, client } = useTenant()
  return useQuery({
    queryKey: [tenantId, 'usage'],
    queryFn: ({ signal }) => client.getUsage({ signal }),
    refetchInterval: refreshMs,
  })
}

export function UsageCard() {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const query = useUsage()
  return (
    <Card title={text.usage} note={text.usageNote}>
      <Answer query={query}>
        {(answer) => (
          <>
            <UsageFields tenantId={tenantId} of={answer} />
            <p>{text.whoSets}</p>
          </>
        )}
      </Answer>
    </Card>
  )
}

/** Quotas that are near or reached. What cannot be asked is shown by the page itself. */
export function NearQuotas() {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const { data } = useUsage()
  const near = data === undefined ? [] : nearQuotas(data)
  if (near.length === 0) return null
  return (
    <Stack>
      {near.map(({ name, nearness }) => (
        <Banner
          key={name}
          tone={nearnessTones[nearness]}
          word={text.problem}
          title={(nearness === 'reached' ? text.reachedTitle : text.nearTitle)[name]}
          action={
            <Link to="/t/$tenantId/settings" params={{ tenantId }} search={{ tab: 'usage' }}>
              {text.usage}
            </Link>
          }
        >
          {nearness === 'reached' && text.reached[name]}
        </Banner>
      ))}
    </Stack>
  )
}
