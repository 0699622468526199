variable "prefix" {
  description = "Beginning of the names of tables and other resources; it separates deployments in one account."
  type        = string
  default     = "varve"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9-]{1,47}$", var.prefix))
    error_message = "A prefix has 1 to 47 letters, digits or -."
  }
}

variable "registry_name" {
  description = "Name of the registry's table. If null, it is <prefix>_registry."
  type        = string
  default     = null

  validation {
    condition     = var.registry_name == null ? true : can(regex("^[A-Za-z0-9_.-]{3,255}$", var.registry_name)) && !can(regex("_.*_.*_.*_.{4}$", var.registry_name))
    error_message = "A registry's name has 3 to 255 letters, digits, _ . or -, and not the form of a time table's name."
  }
}

variable "classes" {
  description = "Retention classes, each with its retention, such as 90d, 1y or forever."
  type        = map(object({ retention = string }))
  default     = { default = { retention = "1y" } }
  nullable    = false

  validation {
    condition     = contains(keys(var.classes), "default") && alltrue([for name in keys(var.classes) : can(regex("^[A-Za-z0-9]{1,16}$", name))])
    error_message = "The class default is required, and a class name has 1 to 16 letters and digits."
  }
  validation {
    condition     = alltrue([for c in var.classes : can(regex("^(forever|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$", c.retention)) && c.retention != ""])
    error_message = "A retention has the form 90d, 1d12h, 1y or forever."
  }
}

variable "streams" {
  description = "Settings of single streams: those under streams.NAME of varve config print. arrivals = true records changes by arrival. archive = true makes queries read archived tables, and requires the variable archive."
  type = map(object({
    class        = optional(string)
    retention    = optional(string)
    row_window   = optional(string)
    expect       = optional(string)
    lookback     = optional(string)
    clock_policy = optional(string)
    arrivals     = optional(bool)
    archive      = optional(bool)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for s in var.streams : s.class == null ? true : contains(keys(var.classes), s.class)])
    error_message = "A stream's class must be in classes."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.retention == null ? true : can(regex("^(forever|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$", s.retention)) && s.retention != ""])
    error_message = "A retention has the form 90d, 1d12h, 1y or forever."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.row_window == null ? true : can(regex("^([0-9]+(h|m|s|ms))+$", s.row_window))])
    error_message = "A row window has the form 1ms, 10s or 1h."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.expect == null ? true : contains(["auto", "new", "existing"], s.expect)])
    error_message = "The setting expect is auto, new or existing."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.lookback == null ? true : can(regex("^([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", s.lookback)) && s.lookback != ""])
    error_message = "A lookback has the form 5m or 1h30m."
  }
  validation {
    condition     = alltrue([for s in var.streams : s.clock_policy == null ? true : contains(["refuse", "quarantine", "correct"], s.clock_policy)])
    error_message = "The setting clock_policy is refuse, quarantine or correct."
  }
  validation {
    condition     = var.archive != null || alltrue([for s in var.streams : s.archive != true])
    error_message = "The setting archive of a stream needs a bucket: set the variable archive."
  }
}

variable "retention" {
  description = "How expired tables are retired and dropped. drop is false, true or archived. The value archived drops only tables with a verified archive, and requires the variable archive. The other fields are the settings of the same names under retention; see varve config print."
  type = object({
    drop      = optional(string, "false")
    grace     = optional(string)
    seal      = optional(string)
    schedule  = optional(string)
    max_drops = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for text in [var.retention.grace, var.retention.seal] : text == null ? true : can(regex("^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$", text)) && text != ""])
    error_message = "Grace and seal have the form 7d or 1h."
  }
  validation {
    condition     = contains(["false", "true", "archived"], var.retention.drop)
    error_message = "The setting drop is false, true or archived."
  }
  validation {
    condition     = var.retention.drop != "archived" || var.archive != null
    error_message = "The value archived of the setting drop needs a bucket: set archive."
  }
  validation {
    condition     = var.retention.max_drops == null ? true : var.retention.max_drops >= 1 && floor(var.retention.max_drops) == var.retention.max_drops
    error_message = "The setting max_drops must be a whole number of at least 1."
  }
}

variable "hosts" {
  description = "Host names under which a proxy reaches Varve (server.hosts). With API keys, every name is accepted."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for host in var.hosts : can(regex("^[^/ *,]+$", host))])
    error_message = "A host has the form varve.example.com."
  }
}

variable "template" {
  description = "Table template: how the rotator creates time tables; see the module registry."
  type = object({
    billing                = optional(string)
    capacity               = optional(map(object({ read = number, write = number })), {})
    capacity_max           = optional(map(object({ read = number, write = number })), {})
    table_class            = optional(map(string), {})
    kms_key                = optional(string)
    point_in_time_recovery = optional(bool)
    deletion_protection    = optional(bool)
    tags                   = optional(map(string), {})
    classes = optional(map(object({
      billing                = optional(string)
      capacity               = optional(map(object({ read = number, write = number })), {})
      capacity_max           = optional(map(object({ read = number, write = number })), {})
      table_class            = optional(map(string), {})
      kms_key                = optional(string)
      point_in_time_recovery = optional(bool)
      deletion_protection    = optional(bool)
      tags                   = optional(map(string), {})
    })), {})
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.template.classes) : contains(keys(var.classes), name)])
    error_message = "The template has a class that is not one of classes."
  }
}

variable "deletion_protection" {
  description = "Whether the registry is protected against deletion. Apply false before you destroy it."
  type        = bool
  default     = true
  nullable    = false
}

variable "point_in_time_recovery" {
  description = "Whether the registry can be restored to any second of the last 35 days."
  type        = bool
  default     = true
  nullable    = false
}

variable "registry_kms_key_arn" {
  description = "ARN of the KMS key that encrypts the registry. If null, a key of AWS is used."
  type        = string
  default     = null

  validation {
    condition     = var.registry_kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.registry_kms_key_arn))
    error_message = "A KMS key is an ARN of the form arn:…:kms:…:key/…."
  }
}

variable "policies" {
  description = "Whether to create the IAM policies. Use false with an emulator, which does not support them."
  type        = bool
  default     = true
  nullable    = false
}

variable "erasure" {
  description = "Whether Varve may delete the readings of a device on purpose, as varve devices erase does; see the module iam."
  type        = bool
  default     = false
  nullable    = false
}

variable "roles" {
  description = "Roles to create; see the module iam."
  type = map(object({
    policies   = set(string)
    services   = optional(set(string), [])
    principals = optional(set(string), [])
  }))
  default  = {}
  nullable = false

  validation {
    condition     = length(var.roles) == 0 || var.policies
    error_message = "Roles need the policies: set policies to true."
  }
}

variable "monitoring" {
  description = "Alarms, their topic and a dashboard; see the module monitoring. If null, they are not created."
  type = object({
    topic_arn        = optional(string)
    topic_kms_key_id = optional(string)
    emails           = optional(set(string), [])
    heartbeat_period = optional(number, 3600)
    rejected_share   = optional(number, 0.05)
    rollup_backlog   = optional(number, 10000)
    delivery_age     = optional(number, 600)
    watch_region     = optional(bool, true)
  })
  default = {}

  validation {
    condition     = var.monitoring == null ? true : var.monitoring.topic_arn == null || length(var.monitoring.emails) == 0
    error_message = "Addresses in emails subscribe to the created topic: subscribe them to your topic, or leave topic_arn out."
  }
}

variable "archive" {
  description = "A bucket to which Varve copies tables before it drops them; see the module archive. retention, merge and rate are the settings of the same names under archive; see varve config print. If null, the bucket is not created, and tables are not archived."
  type = object({
    bucket             = string
    kms_key_arn        = optional(string)
    glacier_after_days = optional(number, 90)
    expire_after_days  = optional(number)
    retention          = optional(string)
    merge              = optional(bool)
    rate               = optional(number)
  })
  default = null

  validation {
    condition     = var.archive == null ? true : length(var.archive.bucket) >= 3
    error_message = "The bucket's name has at least 3 characters."
  }
  validation {
    condition     = try(var.archive.retention, null) == null ? true : can(regex("^(forever|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$", var.archive.retention)) && var.archive.retention != ""
    error_message = "A retention has the form 90d, 1d12h, 1y or forever."
  }
  validation {
    condition     = try(var.archive.rate, null) == null ? true : var.archive.rate >= 0
    error_message = "The rate is a number of readings per second; 0 means no limit."
  }
}

variable "ingest" {
  description = <<-EOT
    A Kinesis stream for readings; see the module ingest. `stream` is the stream of Varve for the records of the Kinesis stream: if it is
    null, no process reads them. `format` is json, ndjson or line, and `params` are parameters such as time=arrival. If null, nothing is created.
  EOT
  type = object({
    shards          = optional(number)
    retention_hours = optional(number, 168)
    kms_key_id      = optional(string, "alias/aws/kinesis")
    stream          = optional(string)
    format          = optional(string)
    params          = optional(string)
    rule = optional(object({
      sql           = string
      partition_key = optional(string, "$${newuuid()}")
      enabled       = optional(bool, true)
    }))
  })
  default = null

  validation {
    condition     = var.ingest == null ? true : var.ingest.retention_hours >= 24
    error_message = "The setting retention_hours must be at least 24."
  }
  validation {
    condition     = var.ingest == null ? true : var.ingest.format == null ? true : contains(["json", "ndjson", "line"], var.ingest.format)
    error_message = "The format is json, ndjson or line."
  }
  validation {
    condition     = var.ingest == null ? true : var.ingest.stream != null || var.ingest.format == null && var.ingest.params == null
    error_message = "The settings format and params need a stream of Varve: set stream."
  }
}

variable "queue" {
  description = <<-EOT
    A queue of SQS whose messages Varve stores. `stream` is the stream of Varve, `format` is json, ndjson or line, and `params` are parameters such
    as time=arrival. If the queue has a KMS key of its own, name it in `kms_key_arn`. If null, Varve reads no queue.
  EOT
  type = object({
    url         = string
    arn         = string
    stream      = string
    format      = optional(string)
    params      = optional(string)
    kms_key_arn = optional(string)
  })
  default = null

  validation {
    condition     = var.queue == null ? true : can(regex("^https://[^/]+/[0-9]{12}/", var.queue.url)) && can(regex("^arn:[^:]+:sqs:[^:]+:[0-9]{12}:", var.queue.arn))
    error_message = "A queue has a URL of the form https://…/123456789012/… and an ARN of the form arn:…:sqs:…."
  }
  validation {
    condition     = var.queue == null ? true : var.queue.format == null ? true : contains(["json", "ndjson", "line"], var.queue.format)
    error_message = "The format is json, ndjson or line."
  }
}

variable "notifiers" {
  description = <<-EOT
    Receivers of messages about alerts, by name: the settings notifiers. `kind` is webhook, alertmanager, mqtt or sns. `secret_env` names the
    environment variable with the secret; on Fargate, service.secrets sets it. Varve may publish to the topics of the kind sns.
  EOT
  type = map(object({
    kind       = string
    url        = optional(string)
    topic      = optional(string)
    user       = optional(string)
    secret_env = optional(string)
    severities = optional(list(string), [])
    streams    = optional(list(string), [])
    rules      = optional(list(string), [])
    tenants    = optional(list(string), [])
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for n in var.notifiers : contains(["webhook", "alertmanager", "mqtt", "sns"], n.kind)])
    error_message = "The kind is webhook, alertmanager, mqtt or sns."
  }
  validation {
    condition     = alltrue([for n in var.notifiers : n.kind == "sns" ? can(regex("^arn:[^:]+:sns:[^:]+:[0-9]{12}:[^:*]+$", n.topic)) : n.url != null])
    error_message = "The kind sns needs the ARN of a topic, and the other kinds need url."
  }
  validation {
    condition     = alltrue(flatten([for n in var.notifiers : [for s in n.severities : contains(["info", "warning", "critical"], s)]]))
    error_message = "A severity is info, warning or critical."
  }
}

variable "alerts" {
  description = "Messages about alerts: the address of Varve in them, and the time over which late alerts are collected, such as 5m."
  type = object({
    url    = optional(string)
    digest = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.alerts.url == null ? true : can(regex("^https?://[^/]+", var.alerts.url))
    error_message = "An address has the form https://varve.example.com."
  }
}

variable "rejects" {
  description = "Largest number of rejects per tenant and stream, and how long they are stored after their last arrival, such as 30d."
  type = object({
    limit     = optional(number)
    retention = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.rejects.limit == null ? true : var.rejects.limit >= 0 && floor(var.rejects.limit) == var.rejects.limit
    error_message = "The limit is whole and not negative."
  }
}

variable "doors" {
  description = <<-EOT
    Protocols beside the API. `influx` has the settings of line protocol, `firehose` serves Amazon Data Firehose, and `iot_accounts` are the
    accounts whose rules of AWS IoT Core may send messages. MQTT needs files, and a client id of its own for each process: run it elsewhere.
  EOT
  type = object({
    influx = optional(object({
      enabled    = optional(bool)
      device     = optional(list(string))
      tags       = optional(string)
      field_tags = optional(list(string))
      databases  = optional(list(string))
    }), {})
    firehose     = optional(bool)
    iot_accounts = optional(list(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.doors.influx.tags == null ? true : contains(["series", "fields"], var.doors.influx.tags)
    error_message = "The setting influx.tags is series or fields."
  }
  validation {
    condition     = alltrue([for id in var.doors.iot_accounts : can(regex("^[0-9]{12}$", id))])
    error_message = "An account has 12 digits."
  }
}

variable "settings" {
  description = "Settings without a variable of their own, by key, such as \"limits.readings\" = \"131072\"; see varve config print. They replace the values of other variables."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.settings) : can(regex("^[a-z_]+[.][a-z_]+$", key)) && !contains(["classes", "streams", "notifiers", "topics"], split(".", key)[0])])
    error_message = "A setting has the form group.name. Settings with three parts have variables."
  }
  validation {
    condition = length(setintersection(keys(var.settings), [
      "store.kind", "store.region", "store.registry", "store.endpoint", "tables.prefix", "aws.firehose",
      "archive.kind", "archive.bucket", "archive.region", "server.listen", "server.proxied"
    ])) == 0
    error_message = "The modules set store.kind, store.region, store.registry, store.endpoint, tables.prefix, aws.firehose, archive.kind, archive.bucket, archive.region, server.listen and server.proxied."
  }
}

variable "service" {
  description = "Varve on Fargate; see the module service-ecs. If null, this module does not run Varve."
  type = object({
    image              = string
    subnet_ids         = set(string)
    security_group_ids = set(string)
    assign_public_ip   = optional(bool, false)
    cluster_arn        = optional(string)
    tasks              = optional(number, 2)
    cpu                = optional(number, 1024)
    memory             = optional(number, 2048)
    architecture       = optional(string, "X86_64")
    proxy = optional(object({
      image       = string
      port        = number
      command     = optional(list(string), [])
      environment = optional(map(string), {})
      secrets     = optional(map(string), {})
    }))
    secrets            = optional(map(string), {})
    target_group_arn   = optional(string)
    log_retention_days = optional(number, 30)
  })
  default = null

  validation {
    condition     = var.service == null || var.policies
    error_message = "The service needs the policies: set policies to true."
  }
}

variable "endpoint" {
  description = "Address of a DynamoDB emulator for Varve. If null, Varve uses DynamoDB on AWS."
  type        = string
  default     = null

  validation {
    condition     = var.endpoint == null ? true : can(regex("^https?://[^/]+", var.endpoint))
    error_message = "An address has the form http://127.0.0.1:8000."
  }
}

variable "tags" {
  description = "Tags of all resources that Terraform creates. The tags of time tables are in template."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : key != "varve:owner" && !startswith(key, "aws:")])
    error_message = "The tag varve:owner is reserved for Varve, and tags that begin with aws: for AWS."
  }
}
