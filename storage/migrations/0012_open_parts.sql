-- For the quota of applications for which nobody is responsible: how many of them came by
-- a metadata document. The index replaces the one that had no origin.
CREATE INDEX applications_open_origin ON applications (responsible, origin) WHERE responsible = 'nobody';
DROP INDEX applications_open;
