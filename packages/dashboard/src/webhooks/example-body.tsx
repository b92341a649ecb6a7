/** What a webhook gets of an event, shown on request: the example of the reference. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Failure } from '../ui/answers.tsx'
import { Button } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './example-body.module.css'
import { words } from './words.ts'

export function ExampleBody({ event }: { readonly event: string }) {
  const text = useWords(words)
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        variant="subtle"
        size="compact-xs"
        aria-label={text.exampleOf(event)}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {text.example}
      </Button>
      {isOpen && (
        <div className={classes.body}>
          <Body event={event} />
        </div>
      )}
    </>
  )
}

function Body({ event }: { readonly event: string }) {
  const text = useWords(words)
  const examples = useQuery({
    queryKey: ['event-examples'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await import('virtual:event-examples')).examples,
  })
  if (examples.error) return <Failure error={examples.error} />
  const code = examples.data && JSON.stringify(examples.data[event], null, 2)
  return <CodeBlock code={code ?? ''} label={text.exampleBody} />
}
