--- The policies that come with sonde.
-- @module sonde.policy.shipped
return {}
